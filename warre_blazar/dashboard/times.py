"""Every time that Horizon's pages wait. The manual prints this table.

A number is a number of seconds. The comments are as in ``warre_blazar/times.py``, which has the
times of the server.
"""

# Horizon's pages

#: A request to the API waits this long for its answer. A person waits for the page meanwhile.
#: :longer: Pages hang longer if the API does.
#: :shorter: A page doesn't tell the outcome of a slow booking.
REQUEST_TIMEOUT = 60
