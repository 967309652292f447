"""The conformance scenarios through the C library: see ../run_c_abi.py."""
