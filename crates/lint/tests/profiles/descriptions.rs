//! What breaks each rule of descriptions.

use soapstone_lint::{Choice, Profiles, lint};
use soapstone_testkit::processor_time;

use super::{SERVICE, Sample, beside, broken, compare};

pub(super) const DESCRIPTIONS: &[Sample] = &[
    ("R2001", "other.wsdl", "schema.xsd", &[]),
    (
        "R2005",
        "namespace=\"urn:other\" location=\"other.wsdl\"",
        "namespace=\"urn:else\" location=\"other.wsdl\"",
        &[],
    ),
    ("R2007", " location=\"other.wsdl\"", "", &[]),
    (
        "R2803",
        "namespace=\"urn:other\" location=\"other.wsdl\"",
        "namespace=\"other\" location=\"none.wsdl\"",
        &[],
    ),
    (
        "R2022",
        "  <wsdl:portType name=\"Calls\">",
        "  <wsdl:import namespace=\"urn:other\" location=\"other.wsdl\"/><wsdl:portType name=\"Calls\">",
        &[],
    ),
    (
        "R2023",
        "  <wsdl:types>",
        "  <wsdl:message name=\"early\"/><wsdl:types>",
        &[],
    ),
    ("R4003", "UTF-8", "ISO-8859-1", &[]),
    (
        "R4005",
        "xmlns:t=",
        "xmlns:xml=\"http://www.w3.org/XML/1998/namespace\" xmlns:t=",
        &[],
    ),
    (
        "R2026",
        "<soap:binding style=\"rpc\"",
        "<soap:binding wsdl:required=\"true\" style=\"rpc\"",
        &[],
    ),
    (
        "R2101",
        "element=\"t:getTitles\"",
        "element=\"soapenc:getTitles\"",
        &[],
    ),
    ("R2102", "type=\"t:books\"", "type=\"o:books\"", &[]),
    (
        "R2105",
        "</xsd:schema>",
        "</xsd:schema><xsd:schema><xsd:element name=\"x\"/></xsd:schema>",
        &[],
    ),
    (
        "R2110",
        "</xsd:schema>",
        "<xsd:import namespace=\"http://schemas.xmlsoap.org/soap/encoding/\"/><xsd:complexType name=\"a\"><xsd:complexContent><xsd:restriction base=\"soapenc:Array\"/></xsd:complexContent></xsd:complexType></xsd:schema>",
        &[],
    ),
    (
        "R2111",
        "</xsd:schema>",
        "<xsd:complexType name=\"a\"><xsd:attribute name=\"n\" wsdl:arrayType=\"t:x[]\"/></xsd:complexType></xsd:schema>",
        &[],
    ),
    (
        "R2112",
        "</xsd:schema>",
        "<xsd:element name=\"ArrayOfBook\"/></xsd:schema>",
        &[],
    ),
    ("R2201", "parts=\"body\"", "parts=\"body lead\"", &[]),
    (
        "R2209",
        "<soap:header message=\"t:getBooks\" part=\"lead\" use=\"literal\"/>",
        "",
        &[],
    ),
    (
        "R2210",
        "<soap:body parts=\"body\" use=\"literal\"/>",
        "<soap:body use=\"literal\"/>",
        &[],
    ),
    (
        "R2203",
        "<wsdl:message name=\"call\"><wsdl:part name=\"one\" type=\"xsd:string\"/>",
        "<wsdl:message name=\"call\"><wsdl:part name=\"one\" element=\"t:lead\"/>",
        &[],
    ),
    (
        "R2204",
        "<wsdl:part name=\"body\" element=\"t:getTitles\"/>",
        "<wsdl:part name=\"body\" type=\"xsd:string\"/>",
        &[],
    ),
    (
        "R2205",
        "<wsdl:part name=\"lead\" element=\"t:lead\"/>",
        "<wsdl:part name=\"lead\" type=\"xsd:string\"/>",
        &[],
    ),
    (
        "R2206",
        "element=\"t:getTitles\"",
        "element=\"t:noSuchElement\"",
        &[],
    ),
    (
        "R2303",
        "<wsdl:input message=\"t:call\"/>\n      <wsdl:output message=\"t:answer\"/>",
        "<wsdl:output message=\"t:answer\"/><wsdl:input message=\"t:call\"/>",
        &[],
    ),
    (
        "R2304",
        "<wsdl:operation name=\"getTitles\">\n      <wsdl:input message",
        "<wsdl:operation name=\"getTitles\"><wsdl:input message=\"t:getTitles\"/></wsdl:operation><wsdl:operation name=\"getTitles\">\n      <wsdl:input message",
        &[],
    ),
    (
        "R2305",
        "parameterOrder=\"one\"",
        "parameterOrder=\"none\"",
        &[],
    ),
    (
        "R2306",
        "<wsdl:part name=\"fault\" element=\"t:trouble\"/>",
        "<wsdl:part name=\"fault\" element=\"t:trouble\" type=\"xsd:string\"/>",
        &[],
    ),
    (
        "R2401",
        "<soap:binding style=\"rpc\" transport=\"http://schemas.xmlsoap.org/soap/http\"/>",
        "",
        &[],
    ),
    (
        "R2701",
        "<soap:binding style=\"rpc\" transport=\"http://schemas.xmlsoap.org/soap/http\"/>",
        "<soap:binding style=\"rpc\"/>",
        &[],
    ),
    (
        "R2702",
        "style=\"rpc\" transport=\"http://schemas.xmlsoap.org/soap/http\"",
        "style=\"rpc\" transport=\"http://schemas.xmlsoap.org/soap/smtp\"",
        &[],
    ),
    (
        "R2705",
        "soapAction=\"urn:getTitles\"",
        "soapAction=\"urn:getTitles\" style=\"rpc\"",
        &[],
    ),
    (
        "R2706",
        "<soap:body parts=\"body\" use=\"literal\"/>",
        "<soap:body parts=\"body\" use=\"encoded\"/>",
        &[],
    ),
    (
        "R2710",
        "element=\"t:getTitles\"",
        "element=\"t:getBooks\"",
        &[],
    ),
    ("R2711", "books.example/calls", "books.example/books", &[]),
    (
        "R2716",
        "<soap:body parts=\"body\" use=\"literal\"/>",
        "<soap:body parts=\"body\" use=\"literal\" namespace=\"urn:x\"/>",
        &[],
    ),
    (
        "R2717",
        "<wsdl:output><soap:body use=\"literal\" namespace=\"urn:calls\"/>",
        "<wsdl:output><soap:body use=\"literal\"/>",
        &[],
    ),
    (
        "R2718",
        "<wsdl:portType name=\"Calls\">",
        "<wsdl:portType name=\"Calls\"><wsdl:operation name=\"more\"><wsdl:input message=\"t:call\"/></wsdl:operation>",
        &[],
    ),
    (
        "R2720",
        "<soap:header message=\"t:getBooks\" part=\"lead\" use=\"literal\"/>",
        "<soap:header message=\"t:getBooks\" use=\"literal\"/>",
        &["R2209"],
    ),
    (
        "R2721",
        "<soap:fault name=\"trouble\" use=\"literal\"/>",
        "<soap:fault use=\"literal\"/>",
        &[],
    ),
    (
        "R2723",
        "<soap:fault name=\"trouble\" use=\"literal\"/>",
        "<soap:fault name=\"trouble\" use=\"encoded\"/>",
        &[],
    ),
    (
        "R2726",
        "<wsdl:input><soap:body use=\"literal\" namespace=\"urn:calls\"/>",
        "<wsdl:input><soap:body use=\"literal\" namespace=\"urn:calls\"/><soap:header message=\"t:getTitles\" part=\"body\" use=\"literal\" namespace=\"urn:x\"/>",
        &[],
    ),
    (
        "R2740",
        "      <wsdl:fault name=\"trouble\"><soap:fault name=\"trouble\" use=\"literal\"/></wsdl:fault>\n",
        "",
        &[],
    ),
    (
        "R2749",
        "part=\"lead\" use=\"literal\"/>",
        "part=\"lead\" parts=\"lead\" use=\"literal\"/>",
        &[],
    ),
    (
        "R2754",
        "<soap:fault name=\"trouble\" use=\"literal\"/>",
        "<soap:fault name=\"other\" use=\"literal\"/>",
        &[],
    ),
];

#[test]
fn each_rule_of_descriptions_is_found_where_it_is_broken() {
    compare(SERVICE, DESCRIPTIONS, Profiles::BASIC);
}

/// The operations of a port type, and the policies that demand addressing, are read once.
#[test]
fn many_bindings_of_a_large_port_type_take_linear_work() {
    let with = |many: usize| {
        let several = |make: &dyn Fn(usize) -> String| (0..many).map(make).collect::<String>();
        let operations = several(&|at| format!("<wsdl:operation name=\"o{at}\"/>"));
        let bindings = several(&|at| {
            format!("<wsdl:binding name=\"b{at}\" type=\"t:P\"><soap:binding/></wsdl:binding>")
        });
        let port_types = several(&|at| {
            format!(
                "<wsdl:portType name=\"p{at}\" wsp:PolicyURIs=\"#n{at}\"/><wsp:Policy wsu:Id=\"n{at}\"/>"
            )
        });
        let source = format!(
            "<wsdl:definitions xmlns:wsdl=\"http://schemas.xmlsoap.org/wsdl/\" xmlns:soap=\"http://schemas.xmlsoap.org/wsdl/soap/\" \
             xmlns:wsp=\"http://www.w3.org/ns/ws-policy\" \
             xmlns:wsu=\"http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd\" \
             xmlns:t=\"urn:t\" targetNamespace=\"urn:t\">{port_types}<wsdl:portType name=\"P\">{operations}</wsdl:portType>{bindings}</wsdl:definitions>"
        );
        processor_time(|| broken(&source, Choice::Of(Profiles::BASIC))).1
    };
    let (few, many) = (with(500), with(2_000));
    assert!(many < few * 10, "{few:?} and {many:?}");
}

/// However many operations a binding has, those of its port type are told from others.
#[test]
fn a_binding_of_very_many_operations_is_held_against_all_of_its_port_type() {
    let with = |abstract_ones: usize, bound: usize| {
        let operations = |count: usize| {
            let one = |at: usize| format!("<operation name=\"o{at}\"/>");
            (0..count).map(one).collect::<String>()
        };
        let source = format!(
            "<definitions xmlns=\"http://schemas.xmlsoap.org/wsdl/\" xmlns:soap=\"http://schemas.xmlsoap.org/wsdl/soap/\" \
             xmlns:t=\"urn:t\" targetNamespace=\"urn:t\"><portType name=\"P\">{}</portType>\
             <binding name=\"B\" type=\"t:P\"><soap:binding transport=\"http://schemas.xmlsoap.org/soap/http\"/>{}</binding></definitions>",
            operations(abstract_ones),
            operations(bound)
        );
        let choice = Choice::Of(Profiles::BASIC);
        let report = lint(source.into_bytes(), &choice, &beside).expect("a description");
        let found = report.findings.into_iter();
        let found = found.filter(|it| matches!(it.rule.id, "R2718" | "wsdl-not-looked-at"));
        found.map(|it| (it.rule.id, it.found)).collect::<Vec<_>>()
    };
    const MOST: usize = 1 << 16;
    let not_looked_at = |count: usize| {
        let found = format!("more than {MOST}: those of the last {count} operations are not");
        ("wsdl-not-looked-at", found)
    };
    assert_eq!(with(MOST, MOST), []);
    assert_eq!(with(MOST + 9, MOST + 9), [not_looked_at(9)]);
    let (one_more, one_less) = (with(MOST + 8, MOST + 9), with(MOST + 9, MOST + 8));
    let last = format!("`o{}`", MOST + 8);
    let lacks = ("R2718", format!("{last} that the port type lacks"));
    assert!(
        one_more.contains(&lacks) && one_more.len() == 2,
        "{one_more:?}"
    );
    let unbound = ("R2718", format!("{last} is not bound"));
    assert!(
        one_less.contains(&unbound) && one_less.len() == 2,
        "{one_less:?}"
    );
}
