import pickle
import zipfile

import numpy as np
import pytest

from keras_attn.torch_state_dict import read_state_dict
from tests.reference import torch_file

FLOATS = np.arange(210, dtype=np.float32)


def entries(*, legacy):
    """A whole tensor, a transposed slice and a parameter, all over one storage; a half scalar."""
    floats = torch_file.storage("FloatStorage", "0", 210, legacy=legacy)
    half = torch_file.storage("HalfStorage", "1", 1, legacy=legacy)
    return torch_file.pickled(
        {
            "whole": torch_file.tensor(floats, 0, (2, 3, 5, 7), (105, 35, 7, 1)),
            "slice": torch_file.tensor(floats, 105 + 2, (5, 3), (7, 35)),
            "parameter": torch_file.parameter(torch_file.tensor(floats, 7, (11,), (3,))),
            "empty": torch_file.tensor(floats, 0, (0, 3), (3, 1)),
            "half": torch_file.tensor(half, 0, (), ()),
        }
    )


def write_both_kinds(path, *, legacy):
    half = np.float16(0.3).tobytes()
    if legacy:
        blocks = {"0": (210, FLOATS.tobytes()), "1": (1, half)}
        torch_file.write_legacy(path, entries(legacy=True), blocks)
    else:
        torch_file.write_zip(path, entries(legacy=False), {"0": FLOATS.tobytes(), "1": half})


@pytest.mark.parametrize("legacy", [False, True])
def test_strided_views_of_one_storage_are_read(tmp_path, legacy):
    write_both_kinds(tmp_path / "model.pth", legacy=legacy)
    state = read_state_dict(tmp_path / "model.pth")
    whole = FLOATS.reshape(2, 3, 5, 7)
    assert list(state) == ["whole", "slice", "parameter", "empty", "half"]
    np.testing.assert_array_equal(state["whole"], whole)
    np.testing.assert_array_equal(state["slice"], whole[1, :, :, 2].T)
    np.testing.assert_array_equal(state["parameter"], FLOATS[7:40:3])
    assert state["empty"].shape == (0, 3)
    assert state["half"].dtype == np.float16 and state["half"] == np.float16(0.3)
    assert not any(array.flags.writeable for array in state.values())


@pytest.mark.parametrize("dtype", sorted(torch_file.STORAGES))
def test_every_element_type_keeps_its_values(tmp_path, dtype):
    array = np.array([[0, 1, 1], [1, 0, 1]], dtype)
    torch_file.write_state(tmp_path / "model.pth", {"weight": array})
    read = read_state_dict(tmp_path / "model.pth")["weight"]
    assert read.dtype == array.dtype
    np.testing.assert_array_equal(read, array)


def test_bfloat16_comes_as_float32(tmp_path):
    values = np.array([1.5, -3.0, 2.0**-20], np.float32)
    upper_halves = (values.view(np.uint32) >> 16).astype(np.uint16)
    block = torch_file.storage("BFloat16Storage", "0", 3)
    data = torch_file.pickled({"weight": torch_file.tensor(block, 0, (3,), (1,))})
    torch_file.write_zip(tmp_path / "model.pth", data, {"0": upper_halves.tobytes()})
    np.testing.assert_array_equal(read_state_dict(tmp_path / "model.pth")["weight"], values)


@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize("module, name", [("os", "system"), ("builtins", "eval")])
def test_a_pickle_that_would_run_code_is_refused(tmp_path, legacy, module, name):
    path, trace = tmp_path / "model.pth", tmp_path / "trace"
    call = torch_file.global_name(module, name) + torch_file.value((f"touch {trace}",)) + b"R"
    data = torch_file.pickled({"weight": call})
    if legacy:
        torch_file.write_legacy(path, data, {})
    else:
        torch_file.write_zip(path, data, {})
    with pytest.raises(ValueError, match=rf"model\.pth.*Received: the global {module}\.{name}"):
        read_state_dict(path)
    assert not trace.exists()


def test_a_pickle_that_runs_code_before_the_magic_number_is_refused(tmp_path):
    path, trace = tmp_path / "model.pth", tmp_path / "trace"
    call = torch_file.global_name("os", "system") + torch_file.value((f"touch {trace}",)) + b"R."
    path.write_bytes(b"\x80\x02" + call)
    with pytest.raises(ValueError, match=r"the global os\.system"):
        read_state_dict(path)
    assert not trace.exists()


@pytest.mark.parametrize("legacy", [False, True])
def test_a_file_cut_anywhere_is_refused_with_its_path(tmp_path, legacy):
    write_both_kinds(tmp_path / "whole.pth", legacy=legacy)
    whole = (tmp_path / "whole.pth").read_bytes()
    path = tmp_path / "cut.pth"
    for length in range(0, len(whole), 13):
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match=r"Expected a torch state dict .*cut\.pth.*Received: "):
            read_state_dict(path)


@pytest.mark.parametrize(
    "content", [b"", b"no pickle at all", pickle.dumps({"a": 1}), b"PK\x03\x04", b"\x80\x02."]
)
def test_a_file_of_another_kind_is_refused(tmp_path, content):
    (tmp_path / "model.pth").write_bytes(content)
    with pytest.raises(ValueError, match=r"Expected a torch state dict .*model\.pth"):
        read_state_dict(tmp_path / "model.pth")


def test_a_zip_without_a_pickle_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "model.pth", "w") as archive:
        archive.writestr("readme.txt", "hello")
    with pytest.raises(ValueError, match=r"0 members \*/data\.pkl"):
        read_state_dict(tmp_path / "model.pth")


@pytest.mark.parametrize(
    "offset, shape, strides",
    [(0, (2, 3), (3, 2)), (6, (1,), (1,)), (-1, (2,), (1,)), (0, (2,), (-1,)), (0, (2, 3), (3,))],
)
def test_a_tensor_outside_its_storage_is_refused(tmp_path, offset, shape, strides):
    block = torch_file.storage("FloatStorage", "0", 6)
    data = torch_file.pickled({"weight": torch_file.tensor(block, offset, shape, strides)})
    torch_file.write_zip(tmp_path / "model.pth", data, {"0": FLOATS[:6].tobytes()})
    with pytest.raises(ValueError, match="the tensor 'weight'"):
        read_state_dict(tmp_path / "model.pth")


def test_entries_other_than_tensors_are_refused(tmp_path):
    data = torch_file.pickled({"epoch": torch_file.value(7)})
    torch_file.write_zip(tmp_path / "model.pth", data, {})
    with pytest.raises(ValueError, match="the entry 'epoch' of type int, not a tensor"):
        read_state_dict(tmp_path / "model.pth")


def test_a_missing_file_is_an_error_of_the_system(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_state_dict(tmp_path / "model.pth")
