package soapstone.interop;

import org.apache.wss4j.common.WSEncryptionPart;
import org.apache.wss4j.common.crypto.Crypto;
import org.apache.wss4j.common.ext.WSSecurityException;
import org.apache.wss4j.common.saml.SamlAssertionWrapper;
import org.apache.wss4j.dom.WSConstants;
import org.apache.wss4j.dom.message.WSSecHeader;
import org.apache.wss4j.dom.message.WSSecSAMLToken;
import org.apache.wss4j.dom.message.WSSecSignature;
import org.apache.wss4j.dom.message.WSSecTimestamp;
import org.apache.wss4j.dom.saml.WSSecSignatureSAML;
import org.w3c.dom.Document;

/** Plain envelope to one with an assertion, confirmed in one way. */
final class AssertionSecuring {
    private static final int LIFETIME_SECONDS = 300;
    private static final String RSA_SHA256 = "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256";
    private static final String SHA256 = "http://www.w3.org/2001/04/xmlenc#sha256";

    private final AssertionIssuer issuer;
    private final String confirmation;
    private final boolean direct;
    private final boolean signs;
    private final boolean beside;
    private final Crypto crypto;

    AssertionSecuring(Options options) {
        issuer = new AssertionIssuer(options);
        confirmation = options.required("confirmation");
        direct = options.optional("reference", "identifier").equals("direct");
        beside = confirmation.equals("bearer") || options.optional("beside", "no").equals("yes");
        signs = options.optional("signs", "yes").equals("yes");
        crypto = Keys.crypto(options);
    }

    byte[] secure(byte[] message) throws Exception {
        Document document = Envelopes.parse(message);
        WSSecHeader header = new WSSecHeader(document);
        header.insertSecurityHeader();
        WSSecTimestamp timestamp = new WSSecTimestamp(header);
        timestamp.setTimeToLive(LIFETIME_SECONDS);
        timestamp.build();
        SamlAssertionWrapper assertion = issuer.assertion();
        if (beside || !signs) {
            new WSSecSAMLToken(header).build(assertion);
            if (signs) {
                WSSecSignature signature = new WSSecSignature(header);
                signature.setKeyIdentifierType(WSConstants.BST_DIRECT_REFERENCE);
                cover(signature, document);
                boolean second = assertion.getSaml2() != null;
                signature.getParts().add(new WSEncryptionPart("Assertion", second ? WSConstants.SAML2_NS : WSConstants.SAML_NS, "Element"));
                signature.build(crypto);
            }
        } else {
            confirm(header, document, assertion);
        }
        return Envelopes.serialize(document, message.length + 16384);
    }

    /** The key of the holder signs, or that of somebody who vouches. */
    private void confirm(WSSecHeader header, Document document, SamlAssertionWrapper assertion) throws WSSecurityException {
        WSSecSignatureSAML signature = new WSSecSignatureSAML(header);
        boolean holder = confirmation.equals("holder-of-key");
        signature.setUseDirectReferenceToAssertion(direct);
        signature.setKeyIdentifierType(holder ? WSConstants.X509_KEY_IDENTIFIER : WSConstants.BST_DIRECT_REFERENCE);
        cover(signature, document);
        if (holder) {
            signature.build(crypto, assertion, null, null, null);
        } else {
            // It covers the assertion by the STR transform.
            signature.build(null, assertion, crypto, Keys.OURS, Keys.STORE_PASSWORD);
        }
    }

    private static void cover(WSSecSignature signature, Document document) {
        signature.setUserInfo(Keys.OURS, Keys.STORE_PASSWORD);
        signature.setSignatureAlgorithm(RSA_SHA256);
        signature.setDigestAlgo(SHA256);
        signature.getParts().addAll(Envelopes.parts("Body,Timestamp", document, false));
    }
}
