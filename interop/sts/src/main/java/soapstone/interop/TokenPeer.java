package soapstone.interop;

import java.util.HashMap;
import java.util.List;
import java.util.Map;

import javax.security.auth.callback.Callback;
import javax.security.auth.callback.CallbackHandler;

import org.apache.cxf.BusFactory;
import org.apache.cxf.jaxws.EndpointImpl;
import org.apache.cxf.sts.STSPropertiesMBean;
import org.apache.cxf.sts.SignatureProperties;
import org.apache.cxf.sts.StaticSTSProperties;
import org.apache.cxf.sts.operation.TokenIssueOperation;
import org.apache.cxf.sts.service.StaticService;
import org.apache.cxf.sts.token.delegation.SAMLDelegationHandler;
import org.apache.cxf.sts.token.provider.DefaultConditionsProvider;
import org.apache.cxf.sts.token.provider.SAMLTokenProvider;
import org.apache.cxf.sts.token.validator.SAMLTokenValidator;
import org.apache.cxf.ws.addressing.WSAddressingFeature;
import org.apache.cxf.ws.security.sts.provider.SecurityTokenServiceProvider;
import org.apache.cxf.ws.security.wss4j.WSS4JInInterceptor;
import org.apache.cxf.ws.security.wss4j.WSS4JOutInterceptor;
import org.apache.wss4j.common.crypto.Crypto;
import org.apache.wss4j.common.ext.WSPasswordCallback;
import org.apache.wss4j.dom.handler.WSHandlerConstants;

/**
 * The token service of Apache CXF on a loopback port, until its input ends.
 *
 * <pre>
 * --port N --issuer NAME --audience URI --key ours.pem --cert ours.pem --ca ca.pem --peer service.pem [--lifetime SECONDS]
 * </pre>
 *
 * Requests and answers are signed and encrypted with certificates. Symmetric keys of assertions are encrypted to the service.
 */
public final class TokenPeer {
    private static final String ADDRESS = "http://127.0.0.1:%s/issue";
    private static final String SOAP12 = "http://www.w3.org/2003/05/soap/bindings/HTTP/";
    private static final String ACTIONS = "Timestamp Signature Encrypt";
    private static final String CRYPTO = "crypto";

    private TokenPeer() {
    }

    public static void main(String[] arguments) throws Exception {
        Options options = new Options(List.of(arguments));
        Crypto crypto = Keys.crypto(options);
        EndpointImpl endpoint = new EndpointImpl(BusFactory.getDefaultBus(), service(options, crypto), SOAP12);
        endpoint.getFeatures().add(new WSAddressingFeature());
        endpoint.getInInterceptors().add(new WSS4JInInterceptor(receiving(crypto)));
        endpoint.getOutInterceptors().add(new WSS4JOutInterceptor(sending(crypto)));
        endpoint.publish(String.format(ADDRESS, options.required("port")));
        System.out.println("ready");
        while (System.in.read() >= 0) {
            continue;
        }
        System.exit(0);
    }

    private static SecurityTokenServiceProvider service(Options options, Crypto crypto) throws Exception {
        DefaultConditionsProvider conditions = new DefaultConditionsProvider();
        String lifetime = options.optional("lifetime");
        if (lifetime != null) {
            conditions.setLifetime(Long.parseLong(lifetime));
        }
        SAMLTokenProvider assertions = new SAMLTokenProvider();
        assertions.setConditionsProvider(conditions);
        StaticService audience = new StaticService();
        audience.setEndpoints(List.of(options.required("audience")));
        TokenIssueOperation issuing = new TokenIssueOperation();
        issuing.setStsProperties(properties(options, crypto));
        issuing.setServices(List.of(audience));
        issuing.setTokenProviders(List.of(assertions));
        issuing.setTokenValidators(List.of(new SAMLTokenValidator()));
        issuing.setDelegationHandlers(List.of(new SAMLDelegationHandler()));
        SecurityTokenServiceProvider provider = new SecurityTokenServiceProvider();
        provider.setIssueOperation(issuing);
        return provider;
    }

    /** What signs assertions; without being told, CXF signs with SHA-1. */
    private static STSPropertiesMBean properties(Options options, Crypto crypto) {
        SignatureProperties signature = new SignatureProperties();
        signature.setSignatureAlgorithm("http://www.w3.org/2001/04/xmldsig-more#rsa-sha256");
        signature.setDigestAlgorithm("http://www.w3.org/2001/04/xmlenc#sha256");
        StaticSTSProperties properties = new StaticSTSProperties();
        properties.setSignatureCrypto(crypto);
        properties.setSignatureUsername(Keys.OURS);
        properties.setEncryptionCrypto(crypto);
        properties.setEncryptionUsername(Keys.PEER);
        properties.setSignatureProperties(signature);
        properties.setCallbackHandler(TokenPeer::password);
        properties.setIssuer(options.required("issuer"));
        return properties;
    }

    private static Map<String, Object> receiving(Crypto crypto) {
        Map<String, Object> map = common(crypto);
        map.put(WSHandlerConstants.SIG_VER_PROP_REF_ID, CRYPTO);
        map.put(WSHandlerConstants.DEC_PROP_REF_ID, CRYPTO);
        return map;
    }

    private static Map<String, Object> sending(Crypto crypto) {
        Map<String, Object> map = common(crypto);
        map.put(WSHandlerConstants.USER, Keys.OURS);
        map.put(WSHandlerConstants.SIG_PROP_REF_ID, CRYPTO);
        map.put(WSHandlerConstants.SIG_KEY_ID, "DirectReference");
        map.put(WSHandlerConstants.SIG_ALGO, "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256");
        map.put(WSHandlerConstants.SIG_DIGEST_ALGO, "http://www.w3.org/2001/04/xmlenc#sha256");
        map.put(WSHandlerConstants.SIGNATURE_PARTS, "{Element}{" + WSU + "}Timestamp;{}{}Body;");
        map.put(WSHandlerConstants.ENC_PROP_REF_ID, CRYPTO);
        map.put(WSHandlerConstants.ENCRYPTION_USER, WSHandlerConstants.USE_REQ_SIG_CERT);
        map.put(WSHandlerConstants.ENC_SYM_ALGO, "http://www.w3.org/2001/04/xmlenc#aes256-cbc");
        map.put(WSHandlerConstants.ENC_KEY_TRANSPORT, "http://www.w3.org/2001/04/xmlenc#rsa-oaep-mgf1p");
        return map;
    }

    private static final String WSU =
        "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd";

    private static Map<String, Object> common(Crypto crypto) {
        Map<String, Object> map = new HashMap<>();
        map.put(WSHandlerConstants.ACTION, ACTIONS);
        map.put(WSHandlerConstants.PW_CALLBACK_REF, (CallbackHandler) TokenPeer::password);
        map.put(CRYPTO, crypto);
        return map;
    }

    private static void password(Callback[] callbacks) {
        for (Callback callback : callbacks) {
            ((WSPasswordCallback) callback).setPassword(Keys.STORE_PASSWORD);
        }
    }
}
