//! `docs/lint.md` has the table of rules as it is.

#[test]
fn the_guide_lists_every_rule_as_the_table_has_it() {
    let guide = include_str!("../../../docs/lint.md");
    let (_, listed) = guide
        .split_once("## All rules\n\n")
        .expect("the heading of the rules");
    assert!(
        listed == soapstone_lint::rules_in_markdown(),
        "docs/lint.md is not what `soapstone lint --rules` prints behind \"## All rules\""
    );
}
