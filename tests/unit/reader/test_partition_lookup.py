from hypothesis import given
from hypothesis import strategies as st

from hiveacid.reader import partition_lookup


def slot_of(table, key):
    key_hash = partition_lookup.path_hash(key)
    displacement = table.displacements[key_hash % len(table.displacements)]
    return partition_lookup._hash_from(partition_lookup._seed(key_hash), displacement) % len(
        table.hashes
    )


@given(st.lists(st.text(), unique=True, min_size=1, max_size=300))
def test_every_key_has_a_slot_of_its_own(keys):
    table = partition_lookup.build_perfect_hash(keys)
    slots = [slot_of(table, key) for key in keys]
    assert len(set(slots)) == len(keys)
    assert [table.keys[slot] for slot in slots] == keys
    assert [table.hashes[slot] for slot in slots] == [partition_lookup.path_hash(k) for k in keys]


def test_ten_thousand_paths_take_little_room():
    keys = [f"file:/warehouse/t/p={i}/delta_{i}_{i}_0000/bucket_00000_0" for i in range(10_000)]
    table = partition_lookup.build_perfect_hash(keys)
    assert len(table.hashes) <= 12_500
    assert len(table.displacements) == 2_500
