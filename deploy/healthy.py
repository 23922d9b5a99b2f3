"""Ends with 0 if the server of this machine takes requests, else with 1."""

import os
import sys
from http.client import HTTPConnection, HTTPException

connection = HTTPConnection("127.0.0.1", int(os.environ.get("PORT", "8000")), timeout=4)
try:
    connection.request("GET", "/readyz")
    sys.exit(connection.getresponse().status != 200)
except (OSError, HTTPException) as error:
    sys.exit(f"no answer: {error}")
