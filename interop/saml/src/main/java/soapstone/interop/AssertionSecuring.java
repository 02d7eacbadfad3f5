package soapstone.interop;

import javax.crypto.SecretKey;

import org.apache.wss4j.common.WSEncryptionPart;
import org.apache.wss4j.common.crypto.Crypto;
import org.apache.wss4j.common.ext.WSSecurityException;
import org.apache.wss4j.common.saml.SamlAssertionWrapper;
import org.apache.wss4j.common.token.SecurityTokenReference;
import org.apache.wss4j.dom.WSConstants;
import org.apache.wss4j.dom.message.WSSecHeader;
import org.apache.wss4j.dom.message.WSSecSAMLToken;
import org.apache.wss4j.dom.message.WSSecSignature;
import org.apache.wss4j.dom.message.WSSecTimestamp;
import org.apache.wss4j.dom.saml.WSSecSignatureSAML;
import org.w3c.dom.Document;
import org.w3c.dom.Element;

/** Plain envelope to one with an assertion, confirmed in one way. */
final class AssertionSecuring {
    private static final int LIFETIME_SECONDS = 300;
    private static final String RSA_SHA256 = "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256";
    private static final String HMAC_SHA256 = "http://www.w3.org/2001/04/xmldsig-more#hmac-sha256";
    /** The name of a part that WSS4J covers through a reference. */
    private static final String STR_TRANSFORM = "STRTransform";
    private static final String SHA256 = "http://www.w3.org/2001/04/xmlenc#sha256";

    private final AssertionIssuer issuer;
    private final String confirmation;
    private final String reference;
    private final boolean signs;
    private final boolean beside;
    /** Whether a signature covers the assertion by the STR transform. A holder's does not cover it otherwise, and a bearer's by its id. */
    private final boolean through;
    private final SecretKey proof;
    private final AssertionHiding hiding;
    private final Crypto crypto;

    AssertionSecuring(Options options) throws Exception {
        issuer = new AssertionIssuer(options);
        confirmation = options.required("confirmation");
        reference = options.optional("reference", "identifier");
        beside = confirmation.equals("bearer") || options.optional("beside", "no").equals("yes");
        signs = options.optional("signs", "yes").equals("yes");
        through = options.optional("covered", "id").equals("reference");
        proof = AssertionIssuer.proof(options);
        hiding = options.optional("hidden") == null ? null : new AssertionHiding(options);
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
        if (beside || proof != null || !signs) {
            new WSSecSAMLToken(header).build(assertion);
            if (proof != null) {
                prove(header, document, assertion);
            } else if (signs) {
                cover(header, document, assertion);
            }
        } else {
            confirm(header, document, assertion);
        }
        if (hiding != null) {
            hiding.hide(header, assertion);
        }
        if (reference.equals("embedded")) {
            embed(assertion.getElement(), Envelopes.find("Signature", document));
        }
        return Envelopes.serialize(document, message.length + 16384);
    }

    /** A certificate that the assertion does not name signs the message with the assertion. */
    private void cover(WSSecHeader header, Document document, SamlAssertionWrapper assertion) throws WSSecurityException {
        WSSecSignature signature = new WSSecSignature(header);
        signature.setKeyIdentifierType(WSConstants.BST_DIRECT_REFERENCE);
        cover(signature, document);
        boolean second = assertion.getSaml2() != null;
        if (through) {
            signature.getParts().add(referred(header, document, assertion));
        } else {
            signature.getParts().add(new WSEncryptionPart("Assertion", second ? WSConstants.SAML2_NS : WSConstants.SAML_NS, "Element"));
        }
        signature.build(crypto);
    }

    /** Puts a reference to the assertion into the header; the part that covers the assertion through it. */
    private static WSEncryptionPart referred(WSSecHeader header, Document document, SamlAssertionWrapper assertion) throws WSSecurityException {
        boolean second = assertion.getSaml2() != null;
        SecurityTokenReference reference = new SecurityTokenReference(document);
        reference.addWSSENamespace();
        reference.addWSUNamespace();
        reference.setID("covered-assertion");
        reference.addTokenType(second ? WSConstants.WSS_SAML2_TOKEN_TYPE : WSConstants.WSS_SAML_TOKEN_TYPE);
        reference.setKeyIdentifier(second ? WSConstants.WSS_SAML2_KI_VALUE_TYPE : WSConstants.WSS_SAML_KI_VALUE_TYPE, assertion.getId());
        header.getSecurityHeaderElement().appendChild(reference.getElement());
        WSEncryptionPart part = new WSEncryptionPart(STR_TRANSFORM, "", "Content");
        part.setId(reference.getID());
        part.setElement(reference.getElement());
        return part;
    }

    /** The symmetric key of the holder signs. */
    private void prove(WSSecHeader header, Document document, SamlAssertionWrapper assertion) throws WSSecurityException {
        WSSecSignature signature = new WSSecSignature(header);
        signature.setKeyIdentifierType(reference.equals("direct") ? WSConstants.CUSTOM_SYMM_SIGNING : WSConstants.CUSTOM_KEY_IDENTIFIER);
        signature.setCustomTokenId(assertion.getId());
        signature.setCustomTokenValueType(assertion.getSaml2() != null ? WSConstants.WSS_SAML2_KI_VALUE_TYPE : WSConstants.WSS_SAML_KI_VALUE_TYPE);
        cover(signature, document);
        signature.setSecretKey(proof.getEncoded());
        signature.setSignatureAlgorithm(HMAC_SHA256);
        signature.build(crypto);
    }

    /** The key of the holder signs, or that of somebody who vouches. */
    private void confirm(WSSecHeader header, Document document, SamlAssertionWrapper assertion) throws WSSecurityException {
        WSSecSignatureSAML signature = new WSSecSignatureSAML(header);
        boolean holder = confirmation.equals("holder-of-key");
        signature.setUseDirectReferenceToAssertion(reference.equals("direct"));
        signature.setKeyIdentifierType(holder ? WSConstants.X509_KEY_IDENTIFIER : WSConstants.BST_DIRECT_REFERENCE);
        cover(signature, document);
        if (holder) {
            if (through) {
                // Without an id it is the reference of the signature's key.
                signature.getParts().add(new WSEncryptionPart(STR_TRANSFORM, "", "Content"));
            }
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

    /** Moves the assertion into the reference to it, which WSS4J itself never writes. No signature covers either of them. */
    private static void embed(Element assertion, Element signature) {
        Element named = (Element) signature.getElementsByTagNameNS(WSConstants.WSSE_NS, "SecurityTokenReference").item(0);
        Element embedded = named.getOwnerDocument().createElementNS(WSConstants.WSSE_NS, "wsse:Embedded");
        embedded.appendChild(assertion);
        while (named.getFirstChild() != null) {
            named.removeChild(named.getFirstChild());
        }
        named.appendChild(embedded);
    }
}
