"""Draw the circuits of the guide: `cd docs && python -m site_builder.circuits` writes their SVG."""

from pathlib import Path

from site_builder import stop_circuit, supply_circuit, wiring_circuit

GUIDE = Path(__file__).resolve().parents[1] / "guide"
DRAWINGS = {
    "emergency-stop.svg": stop_circuit.drawing,
    "wiring.svg": wiring_circuit.drawing,
    "supply.svg": supply_circuit.drawing,
}


if __name__ == "__main__":
    for name, drawing in DRAWINGS.items():
        (GUIDE / name).write_text(drawing(), encoding="utf-8")
