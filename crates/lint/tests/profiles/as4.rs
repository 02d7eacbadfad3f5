//! Messages of AS4 that keep every rule, and the change that breaks each.

use super::Sample;

const SIGNATURE: &str = "<ds:Signature><ds:SignedInfo><ds:CanonicalizationMethod Algorithm=\"http://www.w3.org/2001/10/xml-exc-c14n#\"/>\
    <ds:SignatureMethod Algorithm=\"http://www.w3.org/2001/04/xmldsig-more#rsa-sha256\"/>{references}</ds:SignedInfo>\
    <ds:SignatureValue>AAAA</ds:SignatureValue><ds:KeyInfo><wsse:SecurityTokenReference><wsse:Reference URI=\"#C\" ValueType=\"{x509}X509v3\"/>\
    </wsse:SecurityTokenReference></ds:KeyInfo></ds:Signature>";

const REFERENCE: &str = "<ds:Reference URI=\"{uri}\"><ds:Transforms><ds:Transform Algorithm=\"{transform}\"/></ds:Transforms>\
    <ds:DigestMethod Algorithm=\"http://www.w3.org/2001/04/xmlenc#sha256\"/><ds:DigestValue>AAAA</ds:DigestValue></ds:Reference>";

fn reference(uri: &str) -> String {
    let transform = match uri.starts_with("cid:") {
        true => "{swa}Attachment-Content-Signature-Transform",
        false => "http://www.w3.org/2001/10/xml-exc-c14n#",
    };
    REFERENCE
        .replace("{uri}", uri)
        .replace("{transform}", transform)
}

/// An envelope with the units and the references, more of the header of security, and a Body.
fn envelope(units: &str, uris: &[&str], cipher: &str, body: &str) -> String {
    let references: String = uris.iter().map(|uri| reference(uri)).collect();
    let signature = SIGNATURE.replace("{references}", &references);
    let message = format!(
        "<s:Envelope xmlns:s=\"http://www.w3.org/2003/05/soap-envelope\" xmlns:eb=\"http://docs.oasis-open.org/ebxml-msg/ebms/v3.0/ns/core/200704/\" \
         xmlns:ebbp=\"http://docs.oasis-open.org/ebxml-bp/ebbp-signals-2.0\" xmlns:ds=\"http://www.w3.org/2000/09/xmldsig#\" \
         xmlns:xenc=\"http://www.w3.org/2001/04/xmlenc#\" xmlns:xenc11=\"http://www.w3.org/2009/xmlenc11#\" xmlns:b=\"urn:b\" \
         xmlns:wsu=\"http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd\" \
         xmlns:wsse=\"http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd\"><s:Header>\
         <eb:Messaging s:mustUnderstand=\"true\" id=\"M\">{units}</eb:Messaging><wsse:Security s:mustUnderstand=\"true\">{cipher}\
         <wsse:BinarySecurityToken wsu:Id=\"C\" ValueType=\"{{x509}}X509v3\">MAQwAqAA</wsse:BinarySecurityToken>{signature}</wsse:Security></s:Header>\
         <s:Body wsu:Id=\"B\">{body}</s:Body></s:Envelope>"
    );
    message
        .replace(
            "{swa}",
            "http://docs.oasis-open.org/wss/oasis-wss-SwAProfile-1.1#",
        )
        .replace(
            "{x509}",
            "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-x509-token-profile-1.0#",
        )
}

const INFO: &str = "<eb:MessageInfo><eb:Timestamp>2026-01-31T12:00:00Z</eb:Timestamp><eb:MessageId>m1@sender.example</eb:MessageId></eb:MessageInfo>";

fn user_message(parts: &str) -> String {
    format!(
        "<eb:UserMessage mpc=\"urn:c\">{INFO}<eb:PartyInfo><eb:From><eb:PartyId type=\"urn:t\">1</eb:PartyId><eb:PartyId>urn:s</eb:PartyId><eb:Role>seller</eb:Role></eb:From>\
         <eb:To><eb:PartyId type=\"urn:t\">2</eb:PartyId><eb:Role>buyer</eb:Role></eb:To></eb:PartyInfo><eb:CollaborationInfo><eb:AgreementRef>urn:a</eb:AgreementRef>\
         <eb:Service>urn:service</eb:Service><eb:Action>order</eb:Action><eb:ConversationId>1</eb:ConversationId></eb:CollaborationInfo>\
         <eb:MessageProperties><eb:Property name=\"originalSender\">1</eb:Property></eb:MessageProperties><eb:PayloadInfo>{parts}</eb:PayloadInfo></eb:UserMessage>"
    )
}

/// A user message with an attachment that is compressed, signed and encrypted.
pub(super) fn with_attachment() -> String {
    attached(ENCRYPTED)
}

/// The same without encryption.
pub(super) fn with_signed_attachment() -> String {
    attached("")
}

fn attached(cipher: &str) -> String {
    let part = "<eb:PartInfo href=\"cid:p%2Bq@sender.example\"><eb:Schema location=\"urn:schema\"/><eb:Description xml:lang=\"en\">order</eb:Description>\
        <eb:PartProperties><eb:Property name=\"CompressionType\">application/gzip</eb:Property><eb:Property name=\"MimeType\">application/xml</eb:Property></eb:PartProperties></eb:PartInfo>";
    let uris = ["#M", "#B", "cid:p+q@sender.example"];
    envelope(&user_message(part), &uris, cipher, "")
}

const ENCRYPTED: &str = "<xenc:EncryptedKey Id=\"K\"><xenc:EncryptionMethod Algorithm=\"http://www.w3.org/2009/xmlenc11#rsa-oaep\"><ds:DigestMethod Algorithm=\"http://www.w3.org/2001/04/xmlenc#sha256\"/>\
        <xenc11:MGF Algorithm=\"http://www.w3.org/2009/xmlenc11#mgf1sha256\"/></xenc:EncryptionMethod><ds:KeyInfo><wsse:SecurityTokenReference><ds:X509Data><ds:X509IssuerSerial><ds:X509IssuerName>CN=a</ds:X509IssuerName><ds:X509SerialNumber>1</ds:X509SerialNumber></ds:X509IssuerSerial></ds:X509Data></wsse:SecurityTokenReference></ds:KeyInfo><xenc:ReferenceList><xenc:DataReference URI=\"#D\"/></xenc:ReferenceList></xenc:EncryptedKey>\
        <xenc:EncryptedData Id=\"D\" MimeType=\"application/gzip\" Type=\"{swa}Attachment-Content-Only\"><xenc:EncryptionMethod Algorithm=\"http://www.w3.org/2009/xmlenc11#aes128-gcm\"/>\
        <xenc:CipherData><xenc:CipherReference URI=\"cid:p+q@sender.example\"><xenc:Transforms><ds:Transform Algorithm=\"{swa}Attachment-Ciphertext-Transform\"/></xenc:Transforms></xenc:CipherReference></xenc:CipherData></xenc:EncryptedData>";

/// A user message with its payload in the Body.
pub(super) fn with_body() -> String {
    let part = "<eb:PartInfo href=\"#P\"/>";
    let payload = "<b:order wsu:Id=\"P\"/>";
    envelope(&user_message(part), &["#M", "#B"], "", payload)
}

fn signal(reference: &str, signal: &str) -> String {
    let info = INFO.replace("</eb:MessageInfo>", reference) + "</eb:MessageInfo>";
    let unit = format!("<eb:SignalMessage>{info}{signal}</eb:SignalMessage>");
    envelope(&unit, &["#M", "#B"], "", "")
}

pub(super) fn pull_request() -> String {
    signal("", "<eb:PullRequest mpc=\"urn:c\"/>")
}

/// A receipt with evidence.
pub(super) fn receipt() -> String {
    let copy = reference("cid:a@sender.example");
    signal(
        "<eb:RefToMessageId>m0@sender.example</eb:RefToMessageId>",
        &format!(
            "<eb:Receipt><ebbp:NonRepudiationInformation><ebbp:MessagePartNRInformation>{copy}</ebbp:MessagePartNRInformation></ebbp:NonRepudiationInformation></eb:Receipt>"
        ),
    )
}

pub(super) fn error() -> String {
    signal(
        "<eb:RefToMessageId>m0@sender.example</eb:RefToMessageId>",
        "<eb:Error errorCode=\"EBMS:0004\" severity=\"failure\" refToMessageInError=\"m0@sender.example\"><eb:Description xml:lang=\"en\">no</eb:Description></eb:Error>",
    )
}

pub(super) const OF_USER_MESSAGES: &[Sample] = &[
    (
        "eb-messaging",
        "<wsse:Security",
        "<eb:Messaging/><wsse:Security",
        &[],
    ),
    (
        "eb-messaging-content",
        "</eb:Messaging>",
        "<eb:Other/></eb:Messaging>",
        &[],
    ),
    (
        "eb-messaging-content",
        "</eb:Messaging>",
        "<b:x/><eb:SignalMessage><eb:MessageInfo><eb:Timestamp>2026-01-31T12:00:00</eb:Timestamp><eb:MessageId>m2@x</eb:MessageId></eb:MessageInfo><eb:PullRequest/></eb:SignalMessage></eb:Messaging>",
        &[],
    ),
    (
        "eb-one-user-message",
        "</eb:Messaging>",
        "<eb:UserMessage/></eb:Messaging>",
        &["eb-user-message"],
    ),
    (
        "eb-must-understand",
        "<eb:Messaging s:mustUnderstand=\"true\"",
        "<eb:Messaging s:mustUnderstand=\"false\"",
        &[],
    ),
    (
        "eb-message-info",
        "<eb:MessageId>m1@sender.example</eb:MessageId>",
        "",
        &[],
    ),
    (
        "eb-message-info",
        "</eb:Timestamp>",
        "</eb:Timestamp><eb:Timestamp>2026-01-31T12:00:00Z</eb:Timestamp>",
        &[],
    ),
    ("eb-timestamp", "12:00:00Z", "12:00:00+01:00", &[]),
    ("eb-timestamp", "12:00:00Z", "12:99:00Z", &[]),
    ("eb-message-id", "m1@sender.example", "m1", &[]),
    (
        "eb-message-id-brackets",
        "m1@sender.example",
        "&lt;m1@sender.example>",
        &[],
    ),
    (
        "eb-ref-to-message-id",
        "</eb:MessageId>",
        "</eb:MessageId><eb:RefToMessageId/>",
        &[],
    ),
    (
        "eb-message-id-unique",
        "<eb:UserMessage ",
        "<eb:SignalMessage><eb:MessageInfo><eb:Timestamp>2026-01-31T12:00:00Z</eb:Timestamp><eb:MessageId>m1@sender.example</eb:MessageId></eb:MessageInfo><eb:PullRequest/></eb:SignalMessage><eb:UserMessage ",
        &[],
    ),
    ("eb-mpc", "mpc=\"urn:c\"", "mpc=\"channel\"", &[]),
    (
        "eb-user-message",
        "<eb:PartyInfo>",
        "<eb:PartyInfos/><eb:PartyInfo>",
        &[],
    ),
    (
        "eb-party-info",
        "<eb:To><eb:PartyId type=\"urn:t\">2</eb:PartyId><eb:Role>buyer</eb:Role></eb:To>",
        "",
        &[],
    ),
    (
        "eb-party-info",
        "</eb:PartyInfo>",
        "<eb:Via/></eb:PartyInfo>",
        &[],
    ),
    (
        "eb-property",
        "</eb:MessageProperties>",
        "<eb:Other>1</eb:Other></eb:MessageProperties>",
        &[],
    ),
    ("eb-party", "<eb:Role>buyer</eb:Role>", "", &[]),
    (
        "eb-party-id-uri",
        "<eb:PartyId>urn:s</eb:PartyId>",
        "<eb:PartyId>seller</eb:PartyId>",
        &[],
    ),
    (
        "eb-party-id-type",
        "<eb:PartyId>urn:s</eb:PartyId>",
        "<eb:PartyId type=\"urn:t\">2</eb:PartyId>",
        &[],
    ),
    (
        "eb-collaboration-info",
        "<eb:ConversationId>1</eb:ConversationId>",
        "",
        &[],
    ),
    (
        "eb-agreement-uri",
        "<eb:AgreementRef>urn:a",
        "<eb:AgreementRef>ours",
        &[],
    ),
    (
        "eb-service-uri",
        "<eb:Service>urn:service",
        "<eb:Service>orders",
        &[],
    ),
    (
        "eb-test-service",
        "<eb:Action>order",
        "<eb:Action>http://docs.oasis-open.org/ebxml-msg/ebms/v3.0/ns/core/200704/test",
        &[],
    ),
    (
        "eb-property",
        "<eb:Property name=\"originalSender\">1</eb:Property>",
        "",
        &[],
    ),
    (
        "eb-property-name",
        "<eb:Property name=\"originalSender\">",
        "<eb:Property>",
        &[],
    ),
    (
        "eb-empty-value",
        "<eb:Role>buyer</eb:Role>",
        "<eb:Role/>",
        &[],
    ),
    (
        "eb-payload-info",
        "</eb:PayloadInfo>",
        "<b:part/></eb:PayloadInfo>",
        &[],
    ),
    (
        "eb-part-href",
        "</eb:PayloadInfo>",
        "<eb:PartInfo href=\"order.xml\"/></eb:PayloadInfo>",
        &[],
    ),
    (
        "eb-part-href",
        "</eb:PayloadInfo>",
        "<eb:PartInfo href=\"http://x.example/a b\"/></eb:PayloadInfo>",
        &[],
    ),
    (
        "eb-part-target",
        "</eb:PayloadInfo>",
        "<eb:PartInfo href=\"#M\"/></eb:PayloadInfo>",
        &["as4-encrypted-body"],
    ),
    ("eb-schema-location", " location=\"urn:schema\"", "", &[]),
    ("eb-description-language", " xml:lang=\"en\"", "", &[]),
    (
        "as4-compression-type",
        ">application/gzip<",
        ">application/zip<",
        &[],
    ),
    (
        "as4-compression-mime-type",
        "<eb:Property name=\"MimeType\">application/xml</eb:Property>",
        "",
        &[],
    ),
    (
        "eb-security-target",
        "<wsse:Security s:mustUnderstand=\"true\">",
        "<wsse:Security s:mustUnderstand=\"true\" s:role=\"ebms\">",
        &[],
    ),
    (
        "as4-x509-token",
        "<wsse:Reference URI=\"#C\"",
        "<wsse:Reference URI=\"#X\"",
        &[],
    ),
    (
        "as4-x509-encryption",
        "<ds:KeyInfo><wsse:SecurityTokenReference><ds:X509Data><ds:X509IssuerSerial><ds:X509IssuerName>CN=a</ds:X509IssuerName><ds:X509SerialNumber>1</ds:X509SerialNumber></ds:X509IssuerSerial></ds:X509Data></wsse:SecurityTokenReference></ds:KeyInfo>",
        "",
        &[],
    ),
    (
        "as4-x509-encryption",
        "<ds:KeyInfo><wsse:SecurityTokenReference><ds:X509Data><ds:X509IssuerSerial><ds:X509IssuerName>CN=a</ds:X509IssuerName><ds:X509SerialNumber>1</ds:X509SerialNumber></ds:X509IssuerSerial></ds:X509Data></wsse:SecurityTokenReference></ds:KeyInfo>",
        "<ds:KeyInfo><wsse:SecurityTokenReference><ds:KeyName>theirs</ds:KeyName></wsse:SecurityTokenReference></ds:KeyInfo>",
        &[],
    ),
    (
        "as4-detached-signature",
        "<ds:Reference URI=\"#B\">",
        "<ds:Reference URI=\"\">",
        &["as4-signed-body"],
    ),
    (
        "as4-signed-messaging",
        "<ds:Reference URI=\"#M\">",
        "<ds:Reference URI=\"#C\">",
        &[],
    ),
    (
        "as4-signed-body",
        "<ds:Reference URI=\"#B\">",
        "<ds:Reference URI=\"#C\">",
        &[],
    ),
    (
        "as4-messaging-id",
        "s:mustUnderstand=\"true\" id=\"M\"",
        "s:mustUnderstand=\"true\" wsu:Id=\"M\"",
        &[],
    ),
    (
        "as4-signed-parts",
        "</eb:PayloadInfo>",
        "<eb:PartInfo href=\"cid:q@x\"/></eb:PayloadInfo>",
        &["as4-encrypted-parts"],
    ),
    (
        "as4-content-transform",
        "#Attachment-Content-Signature-Transform",
        "#Attachment-Complete-Signature-Transform",
        &[],
    ),
    (
        "as4-signed-part-listed",
        "<ds:Reference URI=\"#B\">",
        "<ds:Reference URI=\"cid:q@x\"><ds:Transforms><ds:Transform Algorithm=\"http://docs.oasis-open.org/wss/oasis-wss-SwAProfile-1.1#Attachment-Content-Signature-Transform\"/></ds:Transforms><ds:DigestMethod Algorithm=\"http://www.w3.org/2001/04/xmlenc#sha256\"/></ds:Reference><ds:Reference URI=\"#B\">",
        &[],
    ),
    (
        "as4-encrypted-messaging",
        "<eb:Role>buyer</eb:Role>",
        "<eb:Role><xenc:EncryptedData/>buyer</eb:Role>",
        &[],
    ),
    (
        "as4-encrypted-body",
        "</eb:PayloadInfo>",
        "<eb:PartInfo/></eb:PayloadInfo>",
        &[],
    ),
    (
        "as4-encrypted-empty-body",
        "<s:Body wsu:Id=\"B\">",
        "<s:Body wsu:Id=\"B\"><xenc:EncryptedData/>",
        &[],
    ),
    (
        "as4-encrypted-parts",
        "<xenc:CipherReference URI=\"cid:p+q@sender.example\">",
        "<xenc:CipherReference URI=\"cid:other@x\">",
        &[],
    ),
    (
        "as4-sign-first",
        "<xenc:EncryptedKey Id=\"K\">",
        "<ds:Signature><ds:KeyInfo><wsse:SecurityTokenReference><wsse:Reference URI=\"#C\"/></wsse:SecurityTokenReference></ds:KeyInfo></ds:Signature><xenc:EncryptedKey Id=\"K\">",
        &[],
    ),
    (
        "as4-encrypted-content-only",
        "#Attachment-Content-Only",
        "#Attachment-Complete",
        &[],
    ),
    (
        "as4-encrypted-mime-type",
        " MimeType=\"application/gzip\"",
        "",
        &[],
    ),
    (
        "as4-ciphertext-transform",
        "#Attachment-Ciphertext-Transform",
        "#Attachment-Content-Signature-Transform",
        &[],
    ),
    (
        "as4-encrypted-data-place",
        "<s:Body wsu:Id=\"B\">",
        "<s:Body wsu:Id=\"B\"><xenc:EncryptedData Type=\"http://docs.oasis-open.org/wss/oasis-wss-SwAProfile-1.1#Attachment-Content-Only\" MimeType=\"a/b\"><xenc:CipherData><xenc:CipherReference URI=\"cid:p+q@sender.example\"><xenc:Transforms><ds:Transform Algorithm=\"http://docs.oasis-open.org/wss/oasis-wss-SwAProfile-1.1#Attachment-Ciphertext-Transform\"/></xenc:Transforms></xenc:CipherReference></xenc:CipherData></xenc:EncryptedData>",
        &["as4-encrypted-empty-body"],
    ),
    (
        "edelivery-soap-version",
        "<s:Envelope xmlns:s=\"http://www.w3.org/2003/05/soap-envelope\"",
        "<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\"",
        &["eb-must-understand"],
    ),
    (
        "edelivery-username-token",
        "<wsse:BinarySecurityToken",
        "<wsse:UsernameToken/><wsse:BinarySecurityToken",
        &[],
    ),
    (
        "edelivery-signature-method",
        "xmldsig-more#rsa-sha256",
        "xmldsig-more#rsa-sha512",
        &[],
    ),
    (
        "edelivery-digest",
        "</ds:Transforms><ds:DigestMethod Algorithm=\"http://www.w3.org/2001/04/xmlenc#sha256\"/>",
        "</ds:Transforms><ds:DigestMethod Algorithm=\"http://www.w3.org/2000/09/xmldsig#sha1\"/>",
        &[],
    ),
    ("edelivery-cipher", "#aes128-gcm", "#aes256-gcm", &[]),
    (
        "edelivery-key-transport",
        "xmlenc11#rsa-oaep",
        "xmlenc11#rsa-1_5",
        &[],
    ),
    (
        "edelivery-oaep-digest",
        "<ds:DigestMethod Algorithm=\"http://www.w3.org/2001/04/xmlenc#sha256\"/><xenc11:MGF",
        "<xenc11:MGF",
        &[],
    ),
    (
        "edelivery-oaep-mask",
        "xmlenc11#mgf1sha256",
        "xmlenc11#mgf1sha1",
        &[],
    ),
];

pub(super) const OF_BODIES: &[Sample] = &[
    (
        "eb-part-target",
        "<eb:PartInfo href=\"#P\"/>",
        "<eb:PartInfo href=\"#Q\"/>",
        &[],
    ),
    (
        "as4-compression-part",
        "<eb:PartInfo href=\"#P\"/>",
        "<eb:PartInfo><eb:PartProperties><eb:Property name=\"CompressionType\">application/gzip</eb:Property><eb:Property name=\"MimeType\">a/b</eb:Property></eb:PartProperties></eb:PartInfo>",
        &[],
    ),
];

pub(super) const OF_PULL_REQUESTS: &[Sample] = &[
    (
        "eb-signal-message",
        "<eb:PullRequest mpc=\"urn:c\"/>",
        "",
        &[],
    ),
    (
        "eb-signal-message",
        "<eb:PullRequest mpc=\"urn:c\"/>",
        "<eb:PullRequest/><eb:PullRequest/>",
        &[],
    ),
    (
        "eb-mpc",
        "<eb:PullRequest mpc=\"urn:c\"/>",
        "<eb:PullRequest mpc=\"\"/>",
        &[],
    ),
];

pub(super) const OF_RECEIPTS: &[Sample] = &[
    (
        "eb-receipt-reference",
        "<eb:RefToMessageId>m0@sender.example</eb:RefToMessageId>",
        "",
        &[],
    ),
    (
        "as4-receipt-content",
        "xmlns:ebbp=\"http://docs.oasis-open.org/ebxml-bp/ebbp-signals-2.0\"",
        "xmlns:ebbp=\"urn:other\"",
        &[],
    ),
    (
        "as4-receipt-evidence",
        "<ds:DigestValue>AAAA</ds:DigestValue></ds:Reference></ebbp:MessagePartNRInformation>",
        "</ds:Reference></ebbp:MessagePartNRInformation>",
        &[],
    ),
    (
        "as4-receipt-signed",
        "xmlns:ds=\"http://www.w3.org/2000/09/xmldsig#\"",
        "xmlns:ds=\"urn:other\"",
        &["as4-receipt-evidence"],
    ),
    (
        "as4-receipt-evidence",
        "<eb:Receipt>",
        "<eb:Receipt><ebbp:NonRepudiationInformation/>",
        &[],
    ),
];

pub(super) const OF_ERRORS: &[Sample] = &[
    (
        "eb-error",
        "</eb:Description>",
        "</eb:Description><eb:Reason/>",
        &[],
    ),
    ("eb-error-code", "errorCode=\"EBMS:0004\"", "", &[]),
    (
        "eb-error-severity",
        "severity=\"failure\"",
        "severity=\"fatal\"",
        &[],
    ),
    (
        "eb-error-reference",
        "refToMessageInError=\"m0@sender.example\"",
        "refToMessageInError=\"m9@sender.example\"",
        &[],
    ),
    (
        "eb-error-reference",
        "<eb:RefToMessageId>m0@sender.example</eb:RefToMessageId>",
        "",
        &[],
    ),
    (
        "eb-description-language",
        "<eb:Description xml:lang=\"en\">",
        "<eb:Description>",
        &[],
    ),
];
