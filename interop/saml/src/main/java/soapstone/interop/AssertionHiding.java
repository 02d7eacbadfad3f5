package soapstone.interop;

import java.security.cert.X509Certificate;
import java.util.List;

import org.apache.wss4j.common.WSEncryptionPart;
import org.apache.wss4j.common.ext.WSSecurityException;
import org.apache.wss4j.common.saml.OpenSAMLUtil;
import org.apache.wss4j.common.saml.SamlAssertionWrapper;
import org.apache.wss4j.common.util.KeyUtils;
import org.apache.wss4j.dom.WSConstants;
import org.apache.wss4j.dom.message.WSSecEncrypt;
import org.apache.wss4j.dom.message.WSSecHeader;
import org.opensaml.saml.saml2.encryption.Encrypter;
import org.opensaml.security.credential.BasicCredential;
import org.opensaml.security.x509.BasicX509Credential;
import org.opensaml.xmlsec.encryption.support.DataEncryptionParameters;
import org.opensaml.xmlsec.encryption.support.EncryptionException;
import org.opensaml.xmlsec.encryption.support.KeyEncryptionParameters;
import org.opensaml.xmlsec.keyinfo.impl.X509KeyInfoGeneratorFactory;
import org.w3c.dom.Element;

/**
 * Puts an assertion of a header into cipher text of its own: in SAML 2.0 a {@code saml:EncryptedAssertion} of OpenSAML, in SAML
 * 1.1 an {@code xenc:EncryptedData} of WSS4J.
 */
final class AssertionHiding {
    private static final String AES256_GCM = "http://www.w3.org/2009/xmlenc11#aes256-gcm";

    private final X509Certificate receiver;
    private final boolean beside;

    /** {@code --hidden inside|beside}: where the key of the cipher text is. */
    AssertionHiding(Options options) throws WSSecurityException {
        receiver = AssertionIssuer.certificate(options.required("receiver"));
        beside = options.required("hidden").equals("beside");
    }

    /** The cipher text stands in front of everything that refers to the assertion. */
    void hide(WSSecHeader header, SamlAssertionWrapper assertion) throws WSSecurityException, EncryptionException {
        Element security = header.getSecurityHeaderElement();
        Element plain = assertion.getElement();
        security.insertBefore(plain, security.getFirstChild());
        if (assertion.getSaml2() == null) {
            byWss4j(header, plain);
        } else {
            security.replaceChild(byOpenSaml(assertion, plain), plain);
        }
    }

    private Element byOpenSaml(SamlAssertionWrapper assertion, Element plain) throws WSSecurityException, EncryptionException {
        DataEncryptionParameters data = new DataEncryptionParameters();
        data.setAlgorithm(AES256_GCM);
        data.setEncryptionCredential(new BasicCredential(KeyUtils.getKeyGenerator(AES256_GCM).generateKey()));
        X509KeyInfoGeneratorFactory naming = new X509KeyInfoGeneratorFactory();
        naming.setEmitEntityCertificate(true);
        KeyEncryptionParameters key = new KeyEncryptionParameters();
        key.setAlgorithm(WSConstants.KEYTRANSPORT_RSAOAEP);
        key.setEncryptionCredential(new BasicX509Credential(receiver));
        key.setKeyInfoGenerator(naming.newInstance());
        Encrypter encrypter = new Encrypter(data, key);
        encrypter.setKeyPlacement(beside ? Encrypter.KeyPlacement.PEER : Encrypter.KeyPlacement.INLINE);
        return OpenSAMLUtil.toDom(encrypter.encrypt(assertion.getSaml2()), plain.getOwnerDocument());
    }

    private void byWss4j(WSSecHeader header, Element plain) throws WSSecurityException {
        WSEncryptionPart part = new WSEncryptionPart(plain.getAttributeNS(null, "AssertionID"), "Element");
        part.setElement(plain);
        WSSecEncrypt encryption = new WSSecEncrypt(header);
        encryption.setUseThisCert(receiver);
        encryption.setKeyIdentifierType(WSConstants.THUMBPRINT_IDENTIFIER);
        encryption.setSymmetricEncAlgorithm(AES256_GCM);
        encryption.setKeyEncAlgo(WSConstants.KEYTRANSPORT_RSAOAEP);
        encryption.setEmbedEncryptedKey(true);
        var session = KeyUtils.getKeyGenerator(AES256_GCM).generateKey();
        encryption.prepare(null, session);
        encryption.encryptForRef(null, List.of(part), session);
    }
}
