"""Which URLs may be called for a project, and at which addresses."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warre_blazar import texts
from warre_blazar.domain.messages.webhook_urls import UrlParts, is_callable, is_listed
from warre_blazar.fields.kinds import WebhookUrl

HOSTS = ("hooks.example.org", ".lab.example.org", "Upper.example.org:8443", "one.example.net:80")


@pytest.mark.parametrize(
    ("url", "listed"),
    [
        ("https://hooks.example.org/a?b=c", True),
        ("http://hooks.example.org", True),
        ("https://HOOKS.example.ORG/", True),
        ("https://hooks.example.org:443/", True),
        ("https://a.lab.example.org/", True),
        ("https://a.b.lab.example.org/", True),
        ("https://upper.example.org:8443/", True),
        ("http://one.example.net/", True),
        ("https://hooks.example.org:80/", False),
        ("http://hooks.example.org:443/", False),
        ("https://hooks.example.org:22/", False),
        ("https://upper.example.org/", False),
        ("https://one.example.net/", False),
        ("https://lab.example.org/", False),
        ("https://xlab.example.org/", False),
        ("https://a.lab.example.org.example.com/", False),
        ("https://hooks.example.org.example.com/", False),
        ("https://xhooks.example.org/", False),
        ("https://example.com/hooks.example.org", False),
        ("https://example.com/?https://hooks.example.org/", False),
        ("https://example.com/@hooks.example.org", False),
        ("https://example.com?@hooks.example.org", False),
    ],
)
def test_url_is_at_a_listed_host(url: str, listed: bool):
    WebhookUrl().validate(url)
    assert is_listed(UrlParts.read(url), HOSTS) == listed


def test_all_hosts_can_be_listed_with_their_default_ports():
    urls = ("https://any.example.com/", "http://any.example.com/", "https://any.example.com:8443/")
    assert [is_listed(UrlParts.read(url), ["*"]) for url in urls] == [True, True, False]


@pytest.mark.parametrize(
    "url",
    [
        "https://user@hooks.example.org/",
        "https://hooks.example.org@example.com/",
        "https://hooks.example.org:443@example.com/",
        "https://hooks.example.org\\@example.com/",
        "https://example.com#@hooks.example.org/",
        "https://hooks.example.org./",
        "https://hooks..example.org/",
        "https://.hooks.example.org/",
        "https://hooks.example.org:/",
        "https://hooks.example.org:0443/",
        "https://hooks.example.org:+443/",
        "https://\u210books.example.org/",
        "https://hooks\u3002example.org/",
        "https://h\u00f6oks.example.org/",
        "https://hooks%2eexample.org/",
        "https://127.0.0.1/",
        "https://127.1/",
        "https://2130706433/",
        "https://0x7f000001/",
        "https://0x7f.0.0.1/",
        "https://0177.0.0.1/",
        "https://[::1]/",
        "https://[::ffff:127.0.0.1]/",
        "https:hooks.example.org/",
        "https:///hooks.example.org/",
        "//hooks.example.org/",
        "file:///etc/passwd",
        "gopher://hooks.example.org/",
        "https://hooks.example.org/\r\nX: y",
        "https://hooks.example.org/ x",
        " https://hooks.example.org/",
        "https://hooks.example.org/\n",
        f"https://{'x' * 64}.example.org/",
        f"https://hooks.example.org/{'x' * 1024}",
    ],
)
def test_what_programs_could_read_in_two_ways_is_no_url(url: str):
    with pytest.raises(texts.NotValid):
        WebhookUrl().validate(url)


@given(st.from_regex(r"https?://[a-z0-9.:@\[\]\\/?#%x-]{1,40}", fullmatch=True))
def test_every_url_that_is_accepted_has_a_name_that_is_no_address(url: str):
    try:
        WebhookUrl().validate(url)
    except texts.NotValid:
        return
    host = UrlParts.read(url).host
    assert url.partition("://")[2].startswith(host)
    assert host.rpartition(".")[2][0].isalpha()
    assert not set(host) - set("abcdefghijklmnopqrstuvwxyz0123456789.-")


PUBLIC = ("93.184.216.34", "8.8.8.8", "2606:2800:220:1:248:1893:25c8:1946", "::ffff:8.8.8.8")
NEVER = {
    "this machine": "127.0.0.1",
    "this machine too": "127.8.9.10",
    "this machine by IPv6": "::1",
    "this machine mapped": "::ffff:127.0.0.1",
    "no address": "0.0.0.0",
    "no address of IPv6": "::",
    "no address mapped": "::ffff:0.0.0.0",
    "metadata": "169.254.169.254",
    "metadata mapped": "::ffff:169.254.169.254",
    "metadata of OpenStack by IPv6": "fe80::a9fe:a9fe",
    "metadata of others by IPv6": "fd00:ec2::254",
    "link-local": "169.254.0.7",
    "link-local by IPv6": "fe80::1",
    "multicast": "224.0.0.1",
    "multicast by IPv6": "ff02::1",
    "multicast that is global": "239.255.255.250",
    "this machine translated": "64:ff9b::7f00:1",
    "no address translated": "64:ff9b::",
    "metadata translated": "64:ff9b::a9fe:a9fe",
    "this machine compatible": "::7f00:1",
    "metadata compatible": "::169.254.169.254",
    "this machine by 6to4": "2002:7f00:1::1",
    "metadata by 6to4": "2002:a9fe:a9fe::1",
    "this machine by Teredo": "2001:0:4136:e378:8000:63bf:80ff:fffe",
    "metadata by Teredo": "2001:0:4136:e378:8000:63bf:5601:5601",
    "metadata as a server of Teredo": "2001:0:a9fe:a9fe:8000:63bf:3fff:fdd2",
}
PRIVATE = {
    "private 10": "10.1.2.3",
    "private 172": "172.16.0.1",
    "private 192": "192.168.1.1",
    "private mapped": "::ffff:10.1.2.3",
    "private by IPv6": "fd12:3456::1",
    "carriers": "100.100.100.200",
    "this network": "0.1.2.3",
    "protocols": "192.0.0.192",
    "documentation": "192.0.2.1",
    "documentation by IPv6": "2001:db8::1",
    "benchmarks": "198.18.0.1",
    "reserved": "240.0.0.1",
    "broadcast": "255.255.255.255",
    "site-local": "fec0::1",
    "compatible": "::8.8.8.8",
    "translated": "64:ff9b::8.8.8.8",
    "translated private": "64:ff9b::10.1.2.3",
    "translated locally": "64:ff9b:1::a00:1",
    "6to4": "2002:808:808::1",
    "Teredo": "2001:0:4136:e378:8000:63bf:3fff:fdd2",
}
ALL = [ipaddress.ip_network(each) for each in ("0.0.0.0/0", "::/0")]


def called(text: str, private=()) -> bool:
    return is_callable(ipaddress.ip_address(text), private)


@pytest.mark.parametrize("text", PUBLIC)
def test_address_of_the_internet_is_called(text: str):
    assert called(text)


@pytest.mark.parametrize("name", NEVER)
def test_address_is_never_called(name: str):
    assert not called(NEVER[name])
    assert not called(NEVER[name], ALL)


@pytest.mark.parametrize("name", PRIVATE)
def test_address_is_only_called_if_its_network_is_listed(name: str):
    other = [ipaddress.ip_network("10.9.0.0/16"), ipaddress.ip_network("fd99::/16")]
    assert not called(PRIVATE[name])
    assert not called(PRIVATE[name], other)
    assert called(PRIVATE[name], ALL)


#: How IPv6 has an address of IPv4 in it, and where.
FORMS = {
    "mapped": ("::ffff:0:0", 0),
    "compatible": ("::", 0),
    "translated": ("64:ff9b::", 0),
    "6to4": ("2002::1", 80),
    "server of Teredo": ("2001::", 64),
}


@given(st.sampled_from(sorted(FORMS)), st.ip_addresses(v=4))
def test_address_in_ipv6_is_never_called_if_ipv4_is_not(form: str, address: ipaddress.IPv4Address):
    outer, place = FORMS[form]
    written = ipaddress.IPv6Address(int(ipaddress.IPv6Address(outer)) | int(address) << place)
    if not is_callable(address, ALL):
        assert not is_callable(written, ALL)


@given(st.ip_addresses(v=4))
def test_mapped_address_is_as_the_address_itself(address: ipaddress.IPv4Address):
    mapped = ipaddress.IPv6Address(f"::ffff:{address}")
    for private in ((), ALL):
        assert is_callable(mapped, private) == is_callable(address, private)
