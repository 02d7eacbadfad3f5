package soapstone.interop;

import java.util.List;

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
import org.w3c.dom.Document;

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

    /** The bytes of an assertion that is in no message. */
    byte[] alone() throws Exception {
        Document document = Envelopes.parse("<empty/>".getBytes());
        document.replaceChild(assertion().toDOM(document), document.getDocumentElement());
        return Envelopes.serialize(document, 8192);
    }

    SamlAssertionWrapper assertion() throws WSSecurityException {
        SamlAssertionWrapper assertion = new SamlAssertionWrapper(content());
        assertion.signAssertion(Keys.OURS, Keys.STORE_PASSWORD, issuer, false, EXCLUSIVE, RSA_SHA256, SHA256);
        return assertion;
    }

    private SAMLCallback content() throws WSSecurityException {
        SubjectBean subject = new SubjectBean("alice", "", "urn:oasis:names:tc:SAML:" + (second ? "2.0" : "1.0") + ":cm:" + confirmation);
        if (options.optional("holder-cert") != null) {
            KeyInfoBean key = new KeyInfoBean();
            CryptoType holder = new CryptoType(CryptoType.TYPE.ALIAS);
            holder.setAlias(Keys.PEER);
            key.setCertificate(Keys.crypto(new Options(List.of("--peer", options.required("holder-cert")))).getX509Certificates(holder)[0]);
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
        SAMLCallback content = new SAMLCallback();
        content.setSamlVersion(second ? Version.SAML_20 : Version.SAML_11);
        content.setIssuer(ISSUER);
        content.setSubject(subject);
        content.setConditions(conditions);
        content.setAttributeStatementData(List.of(attributes));
        content.setAuthenticationStatementData(List.of(authentication));
        return content;
    }
}
