"""zeep as a plain client: all sample services, no security of its own."""

import argparse
import sys

import calls

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("base", help="address below which the services are, for example http://127.0.0.1:8080/sign")
    arguments = parser.parse_args()
    sys.exit(calls.run(arguments.base))
