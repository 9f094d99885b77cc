from blazar.enforcement import filters

from warre_blazar import enforcement


def test_filters_are_found_by_name_however_often_registered() -> None:
    enforcement.register()
    enforcement.register()
    for name in enforcement.FILTERS:
        assert filters.all_filters.count(name) == 1
        assert getattr(filters, name).__name__ == name
