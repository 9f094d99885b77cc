"""A choice of hosts in the terms of the tests."""

from warre_blazar.domain.hosts import placing

PACKED = placing.Packing()


def choose(hosts, shape, count, window, preferred=None, also=None, packing=PACKED):
    wanted = placing.Wanted(shape.request, count, window, also, preferred or {}, packing)
    return placing.choose(hosts, wanted)
