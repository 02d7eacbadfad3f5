//! `docs/lint.md` has the table of rules as it is.

/// Those about exchanges stand further up, with the report that they are of.
#[test]
fn the_guide_lists_the_rules_about_exchanges_as_their_table_has_them() {
    let guide = include_str!("../../../docs/lint.md");
    for rule in soapstone_lint::exchange_rules() {
        let (id, level, clause) = (rule.id, rule.level, rule.clause);
        let row = format!("| `{id}` | {level} | {clause} | {} |", rule.explanation);
        assert!(guide.contains(&row), "docs/lint.md lacks {row}");
    }
}

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
