"""Files made to hurt: whole in their structure and their checksums, hostile in what they say."""
