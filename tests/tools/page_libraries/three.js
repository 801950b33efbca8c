// What parts/scene.js uses of three.js; `make page-libraries` bundles it.
export {
  BoxGeometry, BufferAttribute, BufferGeometry, CanvasTexture, CatmullRomCurve3, Color, ConeGeometry,
  CylinderGeometry, DirectionalLight, DoubleSide, Fog, Group, HemisphereLight, Mesh, MeshBasicMaterial,
  MeshLambertMaterial, PerspectiveCamera, PlaneGeometry, RepeatWrapping, SRGBColorSpace, Scene,
  TorusGeometry, TubeGeometry, Vector3, WebGLRenderer
} from "three";
