"""The files for deployment tools in ``contrib/``, and what the installation page says of them."""

import configparser
import json
import pathlib
import re

import jinja2
import pytest
import yaml

ROOT = pathlib.Path(__file__).parents[3]
CONTRIB = ROOT / "contrib"
PAGE = (ROOT / "doc/source/install.rst").read_text()
#: The directory of each tool, by its name in the table of the page.
TOOLS = {
    "Kolla-Ansible": "kolla",
    "Kayobe": "kayobe",
    "OpenStack-Ansible": "openstack-ansible",
    "OpenStack-Helm": "openstack-helm",
}
FILES = sorted(path for t in TOOLS.values() for path in (CONTRIB / t).rglob("*") if path.is_file())
YAML = [path for path in FILES if path.suffix in (".yml", ".yaml")]
PLUGIN = "flavor.slot.plugin"


def relative(path: pathlib.Path) -> str:
    return str(path.relative_to(CONTRIB))


def lines(path: pathlib.Path) -> list[str]:
    """The lines of a file that are neither empty nor a comment."""
    text = re.sub(r"{#.*?#}", "", path.read_text(), flags=re.DOTALL)
    found = [line.strip() for line in text.splitlines()]
    return [line for line in found if line and line != "---" and not line.startswith("#")]


@pytest.mark.parametrize("tool", TOOLS)
def test_page_counts_the_lines(tool):
    """Those of blazar.conf are options, because its groups are there already."""
    found = [path for path in FILES if path.is_relative_to(CONTRIB / TOOLS[tool])]
    elsewhere = sum(len(lines(path)) for path in found if path.name != "blazar.conf")
    assert re.search(rf"^{tool} +1 +{elsewhere} ", PAGE, re.MULTILINE), elsewhere


def test_page_names_every_file():
    assert [f for f in map(relative, FILES) if f"contrib/{f}" not in PAGE] == []


@pytest.mark.parametrize("path", YAML, ids=relative)
def test_yaml_is_valid(path):
    assert yaml.safe_load(path.read_text())


@pytest.mark.parametrize("name", ["kolla", "kayobe/kolla"])
def test_blazar_conf_has_one_option(name):
    parser = configparser.ConfigParser()
    parser.read(CONTRIB / name / "config" / "blazar.conf")
    (group,) = parser.sections()
    ((option, value),) = parser.items(group)
    assert (group, option) == ("manager", "plugins")
    assert value.split(",")[-1] == PLUGIN


def test_kayobe_changes_images_as_kolla_does():
    """Kayobe writes a block of text for each of the one, and a list in JSON for the other."""
    chosen = yaml.safe_load((CONTRIB / "kayobe" / "kolla.yml").read_text())
    source = chosen["warre_blazar_source"]
    written = ["{% extends parent_template %}"]
    for name, text in chosen["kolla_build_blocks"].items():
        written.append(f"{{% block {name} %}}{text}{{% endblock %}}")
    for name, value in chosen["kolla_build_customizations"].items():
        text = json.dumps(value).replace("{{ warre_blazar_source }}", source)
        written.append(f"{{% set {name} = {text} %}}")
    ours = (CONTRIB / "kolla" / "template-override.j2").read_text()
    assert image("\n".join(written)) == image(ours)


def image(override: str) -> list[str]:
    """What a template of Kolla becomes by an override: the lists of packages, and the blocks."""
    parent = (
        "{{ blazar_base_pip_packages_append | tojson }}\n"
        "{{ horizon_pip_packages_append | tojson }}\n"
        "{% block blazar_api_footer %}{% endblock %}\n{% block horizon_footer %}{% endblock %}"
    )
    environment = jinja2.Environment()
    made = environment.from_string(override)
    text = made.render(parent_template=environment.from_string(parent))
    return [line.strip() for line in text.splitlines() if line.strip()]


def test_every_file_installs_the_released_version():
    setup = configparser.ConfigParser(interpolation=None)
    setup.read(ROOT / "setup.cfg")
    address = f"git+URL_OF_THIS_REPOSITORY@{setup['metadata']['version']}"
    named = [path for path in FILES if "git+" in path.read_text()]
    assert len(named) == len(TOOLS)
    for path in named:
        assert set(re.findall(r"git\+[\w@.]*\d", path.read_text())) == {address}, path
