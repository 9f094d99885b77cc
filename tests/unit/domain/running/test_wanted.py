"""Steps lead from any backing to any other, in any number of attempts."""

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.domain import shapes
from tests.unit.domain.running.model_cloud import ModelCloud, can_carry_out
from warre_blazar.domain.running import backing_names
from warre_blazar.domain.running.backing import Note, Phase
from warre_blazar.domain.running.handles import Handle
from warre_blazar.domain.running.wanted import (
    NOTHING,
    Backing,
    Bounds,
    Do,
    HostUse,
    Moment,
    NovaAggregate,
    NovaFlavor,
    Step,
    between,
    noted,
    steps,
    tolerated,
    wanted,
)

ID = "11111111-2222-4333-8444-555555555555"
SHAPE = shapes.shape(extra_specs={"hw:a": "1", "ssd": "true"})
#: Its Nova flavor requires its trait in a group.
NOTE = Note(ID, "ours", 7, Phase.MADE, ID.replace("-", ""), SHAPE, told={"1": ["VGPU"]})
#: The same with a handle, and with one whose Nova flavor is made before the start.
HANDLED = dataclasses.replace(NOTE, nova_flavor="a-flavor", handle=Handle("nightly"))
SHOWN = dataclasses.replace(HANDLED, shown=True)
notes = st.sampled_from([NOTE, HANDLED, SHOWN])
TRAIT = backing_names.resource_class(ID)
NAMES = "abcd"


def test_aggregate_of_a_project_that_has_become_confined_gets_other_metadata():
    now = dataclasses.replace(NOTE, confined=True)
    (step,) = steps(noted(now), wanted(now, (), Moment.SOON))
    assert (step.do, step.about) == (Do.SET_METADATA, "filter_tenant_id")
    made = dataclasses.replace(now, made_confined=True)
    assert steps(noted(made), wanted(made, (), Moment.SOON)) == []


def use(name: str, instances: int) -> HostUse:
    """Instances on a host, of which each has a device."""
    gpus = frozenset(f"gpu-{name}-{number}" for number in range(instances))
    return HostUse(name, name, f"{name}.example", instances, carriers=gpus)


hosts = st.dictionaries(st.sampled_from(NAMES), st.integers(1, 3), max_size=3).map(
    lambda held: [use(name, n) for name, n in sorted(held.items())]
)
some_names = st.frozensets(st.sampled_from(NAMES))
some_keys = st.dictionaries(
    st.sampled_from(["hw:a", "ssd", "reservation", "more"]), st.sampled_from(["1", "true", ID])
)


def flavors(note: Note) -> st.SearchStrategy[NovaFlavor]:
    """Nova flavors of a reservation. That of a handle is known by a key."""
    own = wanted(note, (), Moment.RUNNING).flavor
    assert own is not None
    known = {backing_names.AGGREGATE_SPEC: ID} if note.handle else {}
    return st.builds(
        NovaFlavor,
        id=st.just(own.id),
        name=st.just(own.name),
        vcpus=st.sampled_from([SHAPE.vcpu, 64]),
        ram=st.just(SHAPE.memory_mb),
        disk=st.just(SHAPE.disk_gb),
        ephemeral=st.just(0),
        is_public=st.booleans(),
        extra_specs=some_keys.map(lambda keys: keys | known)
        | st.just(backing_names.flavor_specs(ID, SHAPE)),
        projects=st.frozensets(st.sampled_from(["ours", "theirs"])),
    )


aggregates = st.builds(
    NovaAggregate, id=st.just(7), name=st.just(ID), hosts=some_names, metadata=some_keys
)
inventories = st.dictionaries(
    st.sampled_from([f"blazar_{name}.example" for name in NAMES]),
    st.builds(
        lambda total, reserved: {**backing_names.inventory(total), "reserved": reserved},
        st.integers(1, 4),
        st.sampled_from([0, 0, 1]),
    ),
)


@st.composite
def backings(draw: st.DrawFn, note: Note) -> Backing:
    """What people and failures may leave in Nova and Placement."""
    has_class = draw(st.booleans())
    carriers = draw(st.frozensets(st.sampled_from(["gpu-a-0", "gpu-a-1", "gpu-b-0", "gpu-z-0"])))
    return Backing(
        flavor=draw(st.none() | flavors(note)),
        aggregate=draw(st.none() | aggregates),
        resource_class=backing_names.resource_class(ID) if has_class else None,
        inventories=draw(inventories) if has_class else {},
        servers=draw(st.frozensets(st.sampled_from(["s1", "s2"]))),
        trait=TRAIT if carriers or draw(st.booleans()) else None,
        carriers=carriers,
    )


moments = st.sampled_from(Moment)


def bare(backing: Backing, like: Backing) -> Backing:
    """A backing without what doesn't matter: keys that we don't write, the aggregate's id.

    A reservation that runs may have servers.
    """
    flavor, aggregate = backing.flavor, backing.aggregate
    if flavor and like.flavor:
        specs = {k: v for k, v in flavor.extra_specs.items() if k in like.flavor.extra_specs}
        flavor = dataclasses.replace(flavor, extra_specs=specs)
    if aggregate and like.aggregate:
        keys = like.aggregate.metadata
        metadata = {k: v for k, v in aggregate.metadata.items() if k in keys}
        aggregate = dataclasses.replace(aggregate, id=like.aggregate.id, metadata=metadata)
    servers = like.servers if like.servers is None else backing.servers
    # If no device is to have the trait, it doesn't matter whether the trait exists.
    trait = like.trait if like.trait and not like.carriers else backing.trait
    parts = {"flavor": flavor, "aggregate": aggregate, "servers": servers, "trait": trait}
    return dataclasses.replace(backing, **parts)


def is_reached(backing: Backing, to: Backing) -> bool:
    """Whether everything is as wanted, and nothing is left to do."""
    nothing_left = steps(backing, to) == []
    assert nothing_left == (bare(backing, to) == to)
    return nothing_left


@given(notes, hosts, moments, st.data())
def test_steps_lead_to_what_is_wanted_after_any_interruption(
    note: Note, held: list[HostUse], moment: Moment, data: st.DataObject
):
    seen, to = data.draw(backings(note)), wanted(note, held, moment)
    cloud = ModelCloud(seen)
    todo = steps(seen, to)
    cloud.carry_out(todo[: data.draw(st.integers(0, len(todo)))])
    cloud.carry_out(steps(cloud.backing, to))
    assert is_reached(cloud.backing, to)


@given(notes, hosts, moments, st.data())
def test_steps_can_be_repeated(
    note: Note, held: list[HostUse], moment: Moment, data: st.DataObject
):
    seen, to = data.draw(backings(note)), wanted(note, held, moment)
    todo = steps(seen, to)
    once, twice = ModelCloud(seen), ModelCloud(seen)
    once.carry_out(todo)
    twice.carry_out(step for step in todo for _ in range(2))
    assert once.backing == twice.backing
    assert is_reached(once.backing, to)


def is_present(draw: Any, there: Bounds, part: str) -> bool:
    """Whether a part of a backing is there, where the note leaves that open."""
    least, most = getattr(there.least, part), getattr(there.most, part)
    return bool(least) or (bool(most) and draw(st.booleans()))


@st.composite
def noted_clouds(draw: st.DrawFn) -> tuple[Note, list[HostUse], Backing]:
    """A note, its reservation's hosts, and a backing as the note allows it."""
    note = dataclasses.replace(draw(notes), phase=draw(st.sampled_from(Phase)))
    held = draw(hosts)
    there = noted(note, held)
    least, most = there.least, there.most
    more = draw(some_names) if there.anywhere else frozenset()
    flavor, aggregate, offered = least.flavor, least.aggregate, dict(least.inventories)
    if is_present(draw, there, "flavor"):
        assert most.flavor is not None
        granted = least.flavor.projects if least.flavor else frozenset()
        is_granted = draw(st.booleans())
        projects = most.flavor.projects if is_granted else granted
        flavor = dataclasses.replace(most.flavor, projects=projects)
    if is_present(draw, there, "aggregate"):
        assert most.aggregate is not None
        known = least.aggregate.hosts if least.aggregate else frozenset()
        added = draw(st.frozensets(st.sampled_from(sorted(most.aggregate.hosts) or ["a"])))
        among = (known | added) & most.aggregate.hosts | more
        aggregate = dataclasses.replace(most.aggregate, hosts=among)
    has_class = is_present(draw, there, "resource_class")
    if has_class:
        for provider in draw(st.frozensets(st.sampled_from(sorted(most.inventories) or ["x"]))):
            offered |= {p: i for p, i in most.inventories.items() if p == provider}
        offered |= {f"blazar_{name}.example": backing_names.inventory(1) for name in more}
        offered |= dict(least.inventories)
    carriers, trait = least.carriers, None
    if most.carriers or there.anywhere:
        among = sorted(most.carriers | {"gpu-z-0"} if there.anywhere else most.carriers)
        carriers |= draw(st.frozensets(st.sampled_from(among)))
    if most.trait and (carriers or draw(st.booleans())):
        trait = most.trait
    return (
        note,
        held,
        Backing(
            flavor,
            aggregate,
            most.resource_class if has_class else None,
            offered if has_class else {},
            frozenset({"server"} if flavor and flavor.projects and draw(st.booleans()) else ()),
            trait,
            carriers,
        ),
    )


@given(noted_clouds(), moments)
def test_steps_from_the_note_lead_to_what_is_wanted(
    scene: tuple[Note, list[HostUse], Backing], moment: Moment
):
    """Whatever of the noted is really there. Nothing has to be asked."""
    note, held, there = scene
    to = wanted(note, held, moment)
    cloud = ModelCloud(there)
    cloud.carry_out(steps(noted(note, held), to))
    assert is_reached(cloud.backing, to)


@given(noted_clouds(), st.data())
def test_project_gets_access_last_and_loses_it_first(
    scene: tuple[Note, list[HostUse], Backing], data: st.DataObject
):
    """In each moment of the work, a project that has access finds all that its servers need."""
    note, held, _ = scene
    to = wanted(note, held, Moment.RUNNING)
    opening = steps(noted(note, held), to)
    part = opening[: data.draw(st.integers(0, len(opening)))]
    if any(step.do is Do.GRANT for step in part):
        assert part == opening
    removal = steps(noted(note, held), NOTHING)
    kinds = [step.do for step in removal]
    if Do.REVOKE in kinds:
        assert kinds[:2] == [Do.REVOKE, Do.FREE_ROOM]
    if Do.GIVE_UP_FLAVOR in kinds:
        assert kinds[:2] == [Do.GIVE_UP_FLAVOR, Do.FREE_ROOM]
        assert {Do.REVOKE, Do.REMOVE_FLAVOR}.isdisjoint(kinds)


def test_start_sends_no_request_about_what_was_made_ahead():
    held = [HostUse("1", "a", "a.example", 2), HostUse("2", "b", "b.example", 1)]
    to = between(NOTE, held, Moment.STARTING, Moment.RUNNING)
    prepared = steps(noted(NOTE, held), to)
    assert [step.do for step in prepared] == [Do.ADD_HOSTS, Do.OFFER, Do.OFFER]
    with_devices = [use("a", 2)]
    to = between(NOTE, with_devices, Moment.STARTING, Moment.RUNNING)
    prepared = steps(noted(NOTE, with_devices), to)
    assert [step.do for step in prepared] == [Do.GIVE_TRAIT, Do.ADD_HOSTS, Do.OFFER]
    assert prepared[0].args == (TRAIT, ["gpu-a-0", "gpu-a-1"])
    there, running = (wanted(NOTE, held, m) for m in (Moment.STARTING, Moment.RUNNING))
    granted = steps(there, running)
    assert granted == [Step(Do.GRANT, (NOTE.nova_flavor, "ours"))]


def test_nova_flavor_of_a_handle_is_made_at_the_start():
    there, running = (wanted(HANDLED, (), m) for m in (Moment.STARTING, Moment.RUNNING))
    assert [step.do for step in steps(there, running)] == [Do.MAKE_FLAVOR]
    assert running.flavor is not None
    assert (running.flavor.id, running.flavor.name) == ("a-flavor", "reservation:nightly@ours")
    soon = steps(noted(HANDLED), wanted(SHOWN, (), Moment.SOON))
    assert [step.do for step in soon] == [Do.MAKE_FLAVOR]


def test_opening_again_leaves_access_and_servers():
    """A reservation that is half open may have servers."""
    half = dataclasses.replace(NOTE, phase=Phase.OPENING, told={})
    held = [HostUse("1", "a", "a.example", 2)]
    todo = steps(noted(half, held), between(half, held, Moment.STARTING, Moment.RUNNING))
    assert [step.do for step in todo] == [Do.ADD_HOSTS, Do.OFFER, Do.CLOSE_OFFERS, Do.KEEP_HOSTS]


def test_fewer_instances_only_lower_inventories():
    held = [HostUse("1", "a", "a.example", 2), HostUse("2", "b", "b.example", 1)]
    fewer = wanted(NOTE, [HostUse("1", "a", "a.example", 1)], Moment.RUNNING)
    before = wanted(NOTE, held, Moment.RUNNING)
    after = dataclasses.replace(before, inventories=fewer.inventories)
    todo = steps(before, after)
    cls = backing_names.resource_class(ID)
    assert [(step.do, step.args) for step in todo] == [
        (Do.LOWER, ("a.example", cls, 1)),
        (Do.LOWER, ("b.example", cls, 0)),
    ]


@pytest.mark.parametrize("phase", Phase)
@pytest.mark.parametrize("is_running", [False, True])
def test_what_is_wanted_is_always_tolerated(phase: Phase, is_running: bool):
    note = dataclasses.replace(NOTE, phase=phase)
    held = [HostUse("1", "a", "a.example", 2)]
    moment = Moment.RUNNING if is_running else Moment.SOON
    to = tolerated(note, held, is_running=is_running)
    assert steps(wanted(note, held, moment), to) == []


@given(noted_clouds())
def test_planned_reservation_has_nothing_to_remove(scene: tuple[Note, list[HostUse], Backing]):
    note, held, _ = scene
    todo = steps(noted(note, held), NOTHING)
    assert (todo == []) == (note.phase is Phase.PLANNED)


@pytest.mark.parametrize("do", Do)
def test_model_knows_each_step(do: Do):
    assert can_carry_out(do)
