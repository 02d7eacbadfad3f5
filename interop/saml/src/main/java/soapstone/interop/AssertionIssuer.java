package soapstone.interop;

import java.nio.file.Files;
import java.nio.file.Path;
import java.security.cert.X509Certificate;
import java.util.Base64;
import java.util.List;

import javax.crypto.SecretKey;
import javax.crypto.spec.SecretKeySpec;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.parsers.ParserConfigurationException;

import org.apache.wss4j.common.crypto.Crypto;
import org.apache.wss4j.common.crypto.CryptoType;
import org.apache.wss4j.common.ext.WSSecurityException;
import org.apache.wss4j.common.saml.SAMLCallback;
import org.apache.wss4j.common.saml.SamlAssertionWrapper;
import org.apache.wss4j.common.saml.bean.AttributeBean;
import org.apache.wss4j.common.saml.bean.AttributeStatementBean;
import org.apache.wss4j.common.saml.bean.AudienceRestrictionBean;
import org.apache.wss4j.common.saml.bean.AuthenticationStatementBean;
import org.apache.wss4j.common.saml.bean.ConditionsBean;
import org.apache.wss4j.common.saml.bean.KeyInfoBean;
import org.apache.wss4j.common.saml.bean.SubjectBean;
import org.apache.wss4j.common.saml.bean.Version;
import org.apache.wss4j.dom.WSConstants;
import org.apache.wss4j.dom.message.WSSecEncryptedKey;
import org.w3c.dom.Document;
import org.w3c.dom.Element;

/** Makes assertions about alice, and signs them. */
final class AssertionIssuer {
    static final String ISSUER = "https://idp.example";
    private static final String RSA_SHA256 = "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256";
    private static final String SHA256 = "http://www.w3.org/2001/04/xmlenc#sha256";
    private static final String EXCLUSIVE = "http://www.w3.org/2001/10/xml-exc-c14n#";

    private final boolean second;
    private final String confirmation;
    private final String audience;
    private final int minutes;
    private final Options options;
    private final Crypto issuer;

    AssertionIssuer(Options options) {
        this.options = options;
        second = options.required("version").equals("2.0");
        confirmation = options.required("confirmation");
        audience = options.required("audience");
        minutes = Integer.parseInt(options.optional("lifetime", "30"));
        issuer = Keys.crypto(new Options(List.of("--key", options.required("issuer-key"), "--cert", options.required("issuer-cert"))));
    }

    /** An assertion that is in no message. */
    Document alone() throws Exception {
        Document document = empty();
        document.appendChild(assertion().toDOM(document));
        return document;
    }

    SamlAssertionWrapper assertion() throws Exception {
        SAMLCallback content = new SAMLCallback();
        fill(content);
        SamlAssertionWrapper assertion = new SamlAssertionWrapper(content);
        assertion.signAssertion(Keys.OURS, Keys.STORE_PASSWORD, issuer, false, EXCLUSIVE, RSA_SHA256, SHA256);
        return assertion;
    }

    /** Tells a stack that makes assertions itself what to say, and how to sign it. */
    void tell(SAMLCallback asked) throws Exception {
        fill(asked);
        asked.setSignAssertion(true);
        asked.setIssuerCrypto(issuer);
        asked.setIssuerKeyName(Keys.OURS);
        asked.setIssuerKeyPassword(Keys.STORE_PASSWORD);
        asked.setCanonicalizationAlgorithm(EXCLUSIVE);
        asked.setSignatureAlgorithm(RSA_SHA256);
        asked.setSignatureDigestAlgorithm(SHA256);
    }

    /** The symmetric key of the holder, which is in the file of that name as base64; null if there is none. */
    static SecretKey proof(Options options) throws Exception {
        String file = options.optional("proof");
        return file == null ? null : new SecretKeySpec(Base64.getMimeDecoder().decode(Files.readString(Path.of(file))), "AES");
    }

    private void fill(SAMLCallback content) throws Exception {
        SubjectBean subject = new SubjectBean("alice", "", "urn:oasis:names:tc:SAML:" + (second ? "2.0" : "1.0") + ":cm:" + confirmation);
        if (options.optional("holder-cert") != null) {
            KeyInfoBean key = new KeyInfoBean();
            key.setCertificate(certificate(options.required("holder-cert")));
            subject.setKeyInfo(key);
        }
        if (options.optional("proof") != null) {
            KeyInfoBean key = new KeyInfoBean();
            key.setElement(wrapped());
            subject.setKeyInfo(key);
        }
        AudienceRestrictionBean restriction = new AudienceRestrictionBean();
        restriction.setAudienceURIs(List.of(audience));
        ConditionsBean conditions = new ConditionsBean();
        conditions.setTokenPeriodMinutes(minutes);
        conditions.setAudienceRestrictions(List.of(restriction));
        AttributeBean role = new AttributeBean();
        role.setSimpleName("role");
        role.setQualifiedName(second ? "role" : "urn:example:attributes");
        role.addAttributeValue("reader");
        AttributeStatementBean attributes = new AttributeStatementBean();
        attributes.setSamlAttributes(List.of(role));
        AuthenticationStatementBean authentication = new AuthenticationStatementBean();
        authentication.setAuthenticationMethod("Password");
        if (!second) {
            attributes.setSubject(subject);
            authentication.setSubject(subject);
        }
        content.setSamlVersion(second ? Version.SAML_20 : Version.SAML_11);
        content.setIssuer(ISSUER);
        content.setSubject(subject);
        content.setConditions(conditions);
        content.setAttributeStatementData(List.of(attributes));
        // In SAML 1.1 each statement has a subject, and the key in it has an id.
        if (second || options.optional("proof") == null) {
            content.setAuthenticationStatementData(List.of(authentication));
        }
    }

    /** The {@code ds:KeyInfo} with the symmetric key of the holder, for the service. */
    private Element wrapped() throws Exception {
        Document document = empty();
        WSSecEncryptedKey key = new WSSecEncryptedKey(document);
        key.setKeyIdentifierType(WSConstants.THUMBPRINT_IDENTIFIER);
        key.setUseThisCert(certificate(options.required("proof-for")));
        key.setKeyEncAlgo(WSConstants.KEYTRANSPORT_RSAOAEP);
        key.prepare(null, proof(options));
        Element info = document.createElementNS(WSConstants.SIG_NS, "ds:KeyInfo");
        info.setAttributeNS(WSConstants.XMLNS_NS, "xmlns:ds", WSConstants.SIG_NS);
        info.appendChild(key.getEncryptedKeyElement());
        return info;
    }

    private static Document empty() throws ParserConfigurationException {
        return DocumentBuilderFactory.newInstance().newDocumentBuilder().newDocument();
    }

    static X509Certificate certificate(String file) throws WSSecurityException {
        CryptoType named = new CryptoType(CryptoType.TYPE.ALIAS);
        named.setAlias(Keys.PEER);
        return Keys.crypto(new Options(List.of("--peer", file))).getX509Certificates(named)[0];
    }
}
