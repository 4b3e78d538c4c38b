"""SSP archives: written, read back, accepted by the schema, and those of others."""

from __future__ import annotations

import gc
import zipfile
from pathlib import Path

import cosim_fixtures
import numpy as np
import pytest
from ssp_texts import FOREIGN, VALUES

from fmu_export.cosim import FMU, Connection, CosimExperiment, CosimSystem, Crossing, Linear, load_system, save_system
from liegeo.errors import InputError, ModelFileError

built = cosim_fixtures.built

WIRES = ("plant.x -> control.y", "plant.v -> control.v", "control.u -> plant.force")


@pytest.fixture
def system(built):
    fmus = {
        "plant": FMU(built("mass"), {"x0": "100 mm"}),
        "control": FMU(built("pd_mm"), {"r": "0.5 m", "kp": 0.008}),
        "sink": FMU(built("sink"), {"n": 3, "flag": True, "text": "a <b>"}),
    }
    experiment = CosimExperiment(0.5, 1.5, 0.01, extrapolation="linear", crossings=(Crossing("plant.x", "20 cm"),))
    return CosimSystem(fmus, WIRES, ["plant.*", "sink.sum"], experiment, name="loop", description="a loop")


def test_round_trip(system, tmp_path):
    file = save_system(system, tmp_path / "loop.ssp")
    again = load_system(file)
    assert again.starts == system.starts
    assert [(k.source, k.output.name, k.target, k.input.name, k.linear) for k in again.links] == [
        (k.source, k.output.name, k.target, k.input.name, k.linear) for k in system.links
    ]
    for key in ("outputs", "experiment", "name", "description"):
        assert getattr(again, key) == getattr(system, key), key
    np.testing.assert_array_equal(again.simulate().table, system.simulate().table)
    # and again, through the system that was read
    save_system(again, tmp_path / "twice.ssp")
    with zipfile.ZipFile(file) as one, zipfile.ZipFile(tmp_path / "twice.ssp") as two:
        assert one.read("SystemStructure.ssd") == two.read("SystemStructure.ssd")
        assert sorted(one.namelist()) == sorted(two.namelist())


def test_schema_accepts_it(system, tmp_path):
    import fmpy
    from fmpy.ssp.ssd import read_ssd
    from lxml import etree
    from pyssp_standard.ssp import SSP

    file = save_system(system, tmp_path / "loop.ssp")
    schema = etree.XMLSchema(
        etree.parse(str(Path(fmpy.__file__).parent / "ssp" / "schema" / "SystemStructureDescription.xsd"))
    )
    with zipfile.ZipFile(file) as archive:
        schema.assertValid(etree.fromstring(archive.read("SystemStructure.ssd")))
    assert [c.name for c in read_ssd(str(file)).system.elements] == ["plant", "control", "sink"]
    with SSP(file, mode="r") as archive, archive.system_structure as structure:
        assert structure.check_connections() == []


def test_folder_lives_as_long_as_the_system(system, tmp_path):
    again = load_system(save_system(system, tmp_path / "loop.ssp"))
    derived, folder = again.with_start({"plant.x0": 0.2}), again.folder
    del again
    gc.collect()
    assert derived.simulate()["plant.x"][0] == 0.2
    del derived
    gc.collect()
    assert not folder.exists()


def test_files_of_one_name_get_two(built, tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "a" / "x.fmu").write_bytes(built("lag").read_bytes())
    (tmp_path / "b" / "x.fmu").write_bytes(built("gain").read_bytes())
    fmus = {"one": FMU("a/x.fmu", {"u": 1.0}), "two": FMU("b/x.fmu"), "three": FMU("a/x.fmu")}
    system = CosimSystem(fmus, ["one.y -> two.u", "two.y -> three.u"], folder=tmp_path)
    again = load_system(save_system(system, tmp_path / "x.ssp"))
    assert [found.file.name for found in again.descriptions.values()] == ["x.fmu", "two_x.fmu", "x.fmu"]
    np.testing.assert_array_equal(again.simulate(1.0, 0.1).table, system.simulate(1.0, 0.1).table)


def test_nothing_is_left_where_writing_fails(system, tmp_path, monkeypatch):
    with pytest.raises(InputError, match=r"there is no folder .*none"):
        save_system(system, tmp_path / "none" / "x.ssp")
    monkeypatch.setattr("fmu_export.ssp._tidy", lambda *arguments: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        save_system(system, tmp_path / "x.ssp")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def archive(built, tmp_path):
    """An SSP file from a text, with some FMUs."""

    def make(text, **files):
        path = tmp_path / "foreign.ssp"
        with zipfile.ZipFile(path, "w") as out:
            out.writestr("SystemStructure.ssd", text)
            for name in ("lag_deg", "lag_rad", "lag_m", "sink"):
                out.write(built(name), f"resources/{name}.fmu")
            for name, content in files.items():
                out.writestr(f"resources/{name.replace('_', '.')}", content)
        return path

    return make


def test_archive_of_others(archive):
    system = load_system(archive(FOREIGN, values_ssv=VALUES))
    assert list(system.fmus) == ["source", "inner.sink"]
    assert system.starts["source"]["u"] == pytest.approx(360.0)
    assert system.starts["inner.sink"]["T"] == pytest.approx(0.5)
    (link,) = system.links
    assert (link.source, link.target) == ("source", "inner.sink")
    # degrees to radians first, then the transformation
    assert link.linear.factor == pytest.approx(3.0 * np.pi / 180.0)
    assert (system.experiment.start, system.experiment.end) == (0.0, 2.5)
    assert system.simulate(step=0.1)["inner.sink.y"][-1] == pytest.approx(3.0 * 2.0 * np.pi, rel=0.1)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("resources/lag_deg.fmu", "../lag_deg.fmu", "'source' is '../lag_deg.fmu', which is not in the archive"),
        (
            "resources/lag_deg.fmu",
            "file:///lag_deg.fmu",
            "'source' is 'file:///lag_deg.fmu', which is not in the archive",
        ),
        (
            "resources/lag_deg.fmu",
            "resources/no.fmu",
            "'source' is 'resources/no.fmu', which the archive does not have",
        ),
        ("resources/lag_deg.fmu", "resources/no.ssp", "expected an FMU"),
        ("resources/lag_deg.fmu", "resources/lag_m.fmu", "connects 'm' to 'rad' .* of different dimensions"),
        (
            "resources/values.ssv",
            "resources/none.ssv",
            "'resources/none.ssv' is not in the archive, expected a ParameterSet",
        ),
        (
            '<ssd:ParameterBinding source="resources/values.ssv"/>',
            "<ssd:ParameterBinding/>",
            "has neither values nor a source",
        ),
        ('value="250" unit="ms"', 'value="x" unit="ms"', "the parameter 'time_constant' is 'x', expected a Real"),
        ('target="T"', "", "a mapping goes from 'time_constant' to None, expected names"),
        ('factor="3"', 'factor="three"', "factor is 'three', expected a finite number"),
        ('stopTime="2.5"', 'stopTime="inf"', "stopTime is 'inf', expected a finite number"),
        ('name="time_constant"', "", "a parameter has the name None and the type Real"),
        ('<ssv:Real value="250" unit="ms"/>', "", "a ParameterSet cannot be read"),
        ('unit="ms"', 'unit="kg"', "the parameter 'inner.sink.T' connects 'kg' to 's'"),
        (
            '<ssc:LinearTransformation factor="3"/>',
            "<ssc:BooleanMappingTransformation/>",
            "has a BooleanMappingTransformation",
        ),
        (
            '<ssc:LinearTransformation factor="2"/>',
            "<ssc:BooleanMappingTransformation/>",
            "'time_constant' is not linear",
        ),
        (
            'ssd:System name="inner"',
            'ssd:SignalDictionaryReference name="inner"',
            "is a SignalDictionaryReference, which is not",
        ),
        ("</ssd:SystemStructureDescription>", "", "SystemStructure.ssd is not XML"),
        ("ssd:SystemStructureDescription", "ssd:Other", "expected ssd:SystemStructureDescription of SSP 1.0"),
        ("ssd:System ", "ssd:Sistem ", "has no System|not XML"),
    ],
)
def test_wrong_archives(archive, old, new, said):
    text = FOREIGN
    if "SignalDictionary" in new:
        text = text.replace("    </ssd:System>", "    </ssd:SignalDictionaryReference>")
    if "Sistem" in new:
        text = text.replace("</ssd:System>", "</ssd:Sistem>")
    with pytest.raises(ModelFileError, match=said):
        load_system(archive(text.replace(old, new), values_ssv=VALUES))


OPEN = '<ssd:ParameterBinding source="resources/values.ssv"/>'
GIVEN = (
    OPEN
    + """<ssd:ParameterBinding><ssd:ParameterValues><ssv:ParameterSet version="1.0" name="o"><ssv:Parameters>
<ssv:Parameter name="NAME"><ssv:Real value="5"/></ssv:Parameter></ssv:Parameters></ssv:ParameterSet>
</ssd:ParameterValues>MAPPING</ssd:ParameterBinding>"""
)


@pytest.mark.parametrize("name", ["spare", "inner.spare"])
def test_values_of_connectors_that_lead_nowhere(archive, name, caplog):
    """Other tools write a value for each connector of a system, connected or not."""
    spare = '<ssd:Connector name="spare" kind="input"/>'
    text = FOREIGN.replace(
        '<ssd:Connectors><ssd:Connector name="in"', f'<ssd:Connectors>{spare}<ssd:Connector name="in"'
    )
    text = text.replace('<ssd:System name="top">', f'<ssd:System name="top"><ssd:Connectors>{spare}</ssd:Connectors>')
    plain = load_system(archive(FOREIGN, values_ssv=VALUES))
    given = GIVEN.replace("NAME", name).replace("MAPPING", "")
    system = load_system(archive(text.replace(OPEN, given), values_ssv=VALUES))
    assert system.starts == plain.starts
    assert f"the value of '{name}', a connector of a system that leads to no FMU, is not used" in caplog.text


def test_values_of_connectors_that_lead_to_an_input(archive):
    """The value of an input that nobody else drives, through systems and transformations."""
    text = FOREIGN.replace(
        '<ssd:System name="top">',
        """<ssd:System name="top"><ssd:Connectors>
        <ssd:Connector name="free" kind="input"/></ssd:Connectors>""",
    )
    text = text.replace(
        'endElement="source" endConnector="u"/>',
        """endElement="source" endConnector="u">
        <ssc:LinearTransformation factor="2" offset="1"/></ssd:Connection>""",
    )
    given = GIVEN.replace(OPEN, "").replace("NAME", "free").replace("MAPPING", "")
    system = load_system(archive(text.replace(OPEN, given), values_ssv=VALUES))
    assert system.starts["source"] == {"u": 11.0}


@pytest.mark.parametrize(
    "mapping",
    [
        '<ssd:ParameterMapping source=""/>',
        '<ssd:ParameterMapping><ssm:ParameterMapping version="1.0"><ssm:MappingEntry source="" target="T"/>'
        '<ssm:MappingEntry source="source.k" target="source.k"/></ssm:ParameterMapping></ssd:ParameterMapping>',
    ],
)
def test_mappings_without_a_source(archive, mapping, caplog):
    given = GIVEN.replace("NAME", "source.k").replace("MAPPING", mapping)
    system = load_system(archive(FOREIGN.replace(OPEN, given), values_ssv=VALUES))
    assert system.starts["source"]["k"] == 5.0
    assert "is not used" in caplog.text


def test_parameter_of_nobody(archive):
    with pytest.raises(ModelFileError, match=r"there is no FMU for the parameter 'elsewhere.u'"):
        load_system(archive(FOREIGN, values_ssv=VALUES.replace("source.u", "elsewhere.u")))
    with pytest.raises(ModelFileError, match=r"'resources/values.ssv' is not XML"):
        load_system(archive(FOREIGN, values_ssv="<"))


def test_no_archives(tmp_path):
    (tmp_path / "a.ssp").write_text("no zip")
    with pytest.raises(ModelFileError, match="is no SSP archive: File is not a zip file"):
        load_system(tmp_path / "a.ssp")
    with zipfile.ZipFile(tmp_path / "b.ssp", "w"):
        pass
    with pytest.raises(ModelFileError, match=r"has no SystemStructure.ssd"):
        load_system(tmp_path / "b.ssp")
    with pytest.raises(ModelFileError, match="cannot be read: No such file"):
        load_system(tmp_path / "c.ssp")


@pytest.mark.parametrize(
    "content", ["[]", "no json", '{"experiment": {"step": "x"}}', '{"experiment": {"nothing": 1}}']
)
def test_annotation_that_is_not_ours(archive, content):
    annotation = (
        f'<ssd:Annotations><ssc:Annotation type="liegeo.cosim"><a>{content}</a></ssc:Annotation></ssd:Annotations>'
    )
    text = FOREIGN.replace(
        "</ssd:System>\n<ssd:DefaultExperiment", f"{annotation}</ssd:System>\n<ssd:DefaultExperiment"
    )
    with pytest.raises(ModelFileError, match=r"annotation 'liegeo.cosim' is not as liegeo writes it; remove it"):
        load_system(archive(text, values_ssv=VALUES))


def test_transforms_survive(built, tmp_path):
    fmus = {"a": FMU(built("lag"), {"u": 1.0}), "b": FMU(built("lag"))}
    system = CosimSystem(fmus, [Connection("a.y", "b.u", Linear(2.0, -1.0))])
    again = load_system(save_system(system, tmp_path / "a.ssp"))
    assert again.links[0].linear == Linear(2.0, -1.0)


def test_what_is_wrong_with_the_system_is_told(archive):
    with pytest.raises(
        ModelFileError, match=r"SystemStructure\.ssd:\d+:1: connections\.0 .* names 'source\.q', which is no"
    ):
        load_system(archive(FOREIGN.replace('startConnector="y"', 'startConnector="q"'), values_ssv=VALUES))


@pytest.mark.parametrize("name", ["a" * 3000, "../" * 2000 + "a", "a/" * 3000])
def test_names_that_no_file_can_have(archive, name):
    """Found by the fuzzer: an OSError of the system."""
    for old in ("resources/values.ssv", "resources/lag_deg.fmu"):
        with pytest.raises(ModelFileError, match=r"in the archive|archive does not have|expected an FMU"):
            load_system(archive(FOREIGN.replace(f'"{old}"', f'"{name}.fmu"'), values_ssv=VALUES))
