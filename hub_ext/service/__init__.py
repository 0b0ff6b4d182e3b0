"""The governor: the one process that decides, records, charges and takes back.

It must stay the only writer of the ledger; what it decides by lives in the pure packages below.
"""
