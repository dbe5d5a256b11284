"""What dbt finds in the package besides the adapter."""

from pathlib import Path

import pytest
import yaml
from dbt.task import init

from dbt.adapters.hiveacid import HiveAcidCredentials, Plugin
from dbt.include.hiveacid import PACKAGE_PATH


def test_the_plugin_builds_on_dbt_spark():
    assert Plugin.adapter.type() == "hiveacid"
    assert Plugin.dependencies == ["spark"]
    assert Plugin.project_name == "dbt_hiveacid"


@pytest.mark.parametrize(("choice", "jars"), [(1, "maven"), (2, "path"), (3, None)])
@pytest.mark.parametrize(
    ("login", "auth"), list(enumerate(["none", "kerberos", "kerberos", "plain", "jwt"], 1))
)
def test_dbt_init_asks_for_a_valid_profile(choice, jars, login, auth, monkeypatch):
    template = yaml.safe_load((Path(PACKAGE_PATH) / "profile_template.yml").read_text())

    def answer(question, **options):
        # The numbers of a choice stand before its question.
        if question.startswith("[1] No authentication"):
            return login
        if question.startswith("[1]"):
            return choice
        assert options["hide_input"] == question.startswith("password")
        return options["default"] or "answer"

    monkeypatch.setattr(init.click, "prompt", answer)
    task = init.InitTask(args=None)
    target = task.generate_target_from_input(template["prompts"], template["fixed"])
    assert target.pop("type") == "hiveacid"
    assert target.pop("threads") == 4
    HiveAcidCredentials.validate(target)
    assert target["server_side_parameters"].get("spark.sql.hive.metastore.jars") == jars
    assert (target["auth"], target["use_ssl"]) == (auth, choice > 1)
    HiveAcidCredentials.from_dict(target)
