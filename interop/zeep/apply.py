"""Applies zeep's own security to an envelope in a file: for recording messages."""

import sys
from pathlib import Path

import secured
from lxml import etree

if __name__ == "__main__":
    parser = secured.parser()
    parser.add_argument("source", type=Path)
    parser.add_argument("output", type=Path)
    options = parser.parse_args()
    envelope = etree.fromstring(options.source.read_bytes())
    envelope, _ = secured.plugin(options).apply(envelope, {})
    options.output.write_bytes(etree.tostring(envelope))
    sys.exit(0)
