"""What dbt finds in the package besides the adapter."""

import re
from pathlib import Path

import pytest
import yaml
from dbt.task import init

from dbt.adapters.hiveacid import HiveAcidCredentials, Plugin
from dbt.include.hiveacid import PACKAGE_PATH
from hiveacid.spark_versions import version_of

DOCS = Path(PACKAGE_PATH).parent.parent.parent / "docs"


def options_of(question):
    """The numbers and texts of a question's choices."""
    return re.findall(r"^\[(\d)\] (.*)", question, re.MULTILINE)


def questions_of(prompts):
    """The keys and the choices that `dbt init` asks for."""
    for key, value in prompts.items():
        if key.startswith("_choose"):
            for choice, further in value.items():
                yield choice
                yield from questions_of(further)
        elif not key.startswith("_fixed"):
            yield key


def test_the_questions_of_dbt_init_are_documented():
    """docs/install.md has each question and each choice by the words that it begins with."""
    template = yaml.safe_load((Path(PACKAGE_PATH) / "profile_template.yml").read_text())
    _, _, page = (DOCS / "install.md").read_text(encoding="utf-8").partition("dbt asks:")
    for question in questions_of(template["prompts"]):
        words = re.split("[:(,]", question)[0].strip()
        assert words in page, words


def test_the_plugin_builds_on_dbt_spark():
    assert Plugin.adapter.type() == "hiveacid"
    assert Plugin.dependencies == ["spark"]
    assert Plugin.project_name == "dbt_hiveacid"


@pytest.mark.parametrize(
    ("choice", "line", "jars", "client"),
    [
        (1, None, "maven", version_of("4.0").hive_4_client),
        (2, "4.0", "path", version_of("4.0").hive_4_client),
        (2, "3.5", "path", version_of("3.5").hive_4_client),
        (3, None, None, None),
    ],
)
@pytest.mark.parametrize(
    ("login", "auth"), list(enumerate(["none", "kerberos", "kerberos", "plain", "jwt"], 1))
)
def test_dbt_init_asks_for_a_valid_profile(choice, line, jars, client, login, auth, monkeypatch):
    template = yaml.safe_load((Path(PACKAGE_PATH) / "profile_template.yml").read_text())

    def answer(question, **options):
        # The numbers of a choice stand before its question.
        if question.startswith("[1] No authentication"):
            return login
        if question.startswith("[1] PySpark"):
            return next(
                int(number) for number, text in options_of(question) if f"PySpark {line}" in text
            )
        if question.startswith("[1]"):
            return choice
        assert options["hide_input"] == question.startswith("password")
        if question.startswith("hive_time_zone"):
            return "Europe/Berlin"
        return options["default"] or "answer"

    monkeypatch.setattr(init.click, "prompt", answer)
    task = init.InitTask(args=None)
    target = task.generate_target_from_input(template["prompts"], template["fixed"])
    assert target.pop("type") == "hiveacid"
    assert target.pop("threads") == 4
    HiveAcidCredentials.validate(target)
    assert target["server_side_parameters"].get("spark.sql.hive.metastore.jars") == jars
    assert target["server_side_parameters"].get("spark.sql.hive.metastore.version") == client
    assert (target["auth"], target["use_ssl"]) == (auth, choice > 1)
    HiveAcidCredentials.from_dict(target)


@pytest.mark.parametrize(
    ("choice", "zone"), [(1, "UTC"), (2, "America/New_York"), (3, None)], ids=str
)
def test_dbt_init_asks_for_the_time_zone_of_hive(choice, zone, monkeypatch):
    template = yaml.safe_load((Path(PACKAGE_PATH) / "profile_template.yml").read_text())
    prompts = {"_choose_time_zone": template["prompts"]["_choose_time_zone"]}
    answers = iter([choice, zone])
    monkeypatch.setattr(init.click, "prompt", lambda question, **options: next(answers))
    target = init.InitTask(args=None).generate_target_from_input(prompts, dict(template["fixed"]))
    assert target.get("hive_time_zone") == zone
