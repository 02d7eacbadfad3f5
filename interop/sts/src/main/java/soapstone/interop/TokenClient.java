package soapstone.interop;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import javax.xml.namespace.QName;
import javax.xml.transform.Source;
import javax.xml.transform.dom.DOMSource;
import javax.xml.ws.Dispatch;
import javax.xml.ws.Service;

import org.apache.cxf.Bus;
import org.apache.cxf.BusFactory;
import org.apache.cxf.binding.soap.SoapFault;
import org.apache.cxf.configuration.Configurer;
import org.apache.cxf.jaxws.DispatchImpl;
import org.apache.cxf.message.Message;
import org.apache.cxf.staxutils.StaxUtils;
import org.apache.cxf.transport.http.HTTPConduitConfigurer;
import org.apache.cxf.transports.http.configuration.HTTPClientPolicy;
import org.apache.cxf.ws.security.SecurityConstants;
import org.apache.cxf.ws.security.tokenstore.SecurityToken;
import org.apache.cxf.ws.security.trust.STSClient;
import org.apache.cxf.ws.security.trust.TrustException;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.Node;

/**
 * CXF's client of token services.
 *
 * <pre>
 * ask --tokens-wsdl WSDL --applies-to URI OPTIONS ASSERTION
 *                                                asks for an assertion
 * validate --tokens-wsdl WSDL OPTIONS ASSERTION  asks whether it is valid
 * cancel --tokens-wsdl WSDL OPTIONS ASSERTION    has it cancelled
 * call [--tokens-wsdl WSDL] --wsdl WSDL --address URL --service NAME --port NAME [--calls N] [--conversation true] OPTIONS REQUEST ANSWER
 *                                                calls a service whose policy wants an assertion
 * issue ISSUER ASSERTION                         makes an assertion; a call with these options makes one itself
 *
 * [--token-type URI] [--key-type NAME] [--entropy false] [--certificate true] [--renew true]
 * [--use-key CERTIFICATE] [--on-behalf-of FILE] [--act-as FILE], and those of {@link Properties}, {@link Tickets} and {@link Tls}
 * </pre>
 */
public final class TokenClient {
    private static final String TRUST = "http://docs.oasis-open.org/ws-sx/ws-trust/200512/";
    private static final QName TOKENS = new QName(TRUST, "SecurityTokenService");
    private static final QName TOKENS_PORT = new QName(TRUST, "SecurityTokenServicePort");
    private static final String HMAC = "http://www.w3.org/2001/04/xmldsig-more#hmac-sha256";
    /** How the name ends that CXF gives the client which asks for the token of a bootstrap. */
    private static final String BOOTSTRAP = ".sct-client.sts-client";
    private static final long TIMEOUT_MILLISECONDS = 20_000;

    private TokenClient() {
    }

    public static void main(String[] arguments) throws Exception {
        new Jobs(TokenClient::run, TokenClient::refused).main(arguments);
    }

    /** A fault, or the status of a token that is not valid. */
    private static boolean refused(Exception thrown) {
        for (Throwable cause = thrown; cause != null; cause = cause.getCause()) {
            if (cause instanceof SoapFault || cause instanceof TrustException) {
                return true;
            }
        }
        return false;
    }

    private static String run(List<String> words) throws Exception {
        Options options = new Options(words);
        Bus bus = BusFactory.newInstance().createBus();
        Bus before = BusFactory.getAndSetThreadDefaultBus(bus);
        try {
            Tls.trust(options);
            bus.setExtension((name, address, conduit) -> {
                HTTPClientPolicy policy = new HTTPClientPolicy();
                policy.setReceiveTimeout(TIMEOUT_MILLISECONDS);
                conduit.setClient(policy);
                Tls.trust(conduit, options);
            }, HTTPConduitConfigurer.class);
            String verb = options.word(0, "what to do");
            return switch (verb) {
                case "ask" -> ask(options, bus);
                case "validate" -> validate(options, bus);
                case "cancel" -> cancel(options, bus);
                case "call" -> call(options, bus);
                case "issue" -> {
                    String assertion = StaxUtils.toString(new AssertionIssuer(options).alone().getDocumentElement());
                    Files.writeString(Path.of(options.word(1, "the file for the assertion")), assertion);
                    yield null;
                }
                default -> throw new IllegalArgumentException(verb + ": expected ask, validate, cancel, call or issue");
            };
        } finally {
            BusFactory.setThreadDefaultBus(before);
            bus.shutdown(true);
        }
    }

    private static STSClient tokens(Options options, Bus bus) throws Exception {
        STSClient tokens = new STSClient(bus);
        configure(tokens, options);
        return tokens;
    }

    private static void configure(STSClient tokens, Options options) throws Exception {
        tokens.setWsdlLocation(options.required("tokens-wsdl"));
        tokens.setServiceQName(TOKENS);
        tokens.setEndpointQName(TOKENS_PORT);
        if (options.optional("key-type") != null) {
            tokens.setKeyType(TRUST + options.required("key-type"));
        }
        if (options.optional("token-type") != null) {
            tokens.setTokenType(options.required("token-type"));
        }
        tokens.setRequiresEntropy(!options.optional("entropy", "true").equals("false"));
        tokens.setUseCertificateForConfirmationKeyInfo(options.is("certificate"));
        if (options.optional("use-key") != null) {
            tokens.setUseKeyCertificate(Keys.certificates(options.required("use-key")).get(0));
        }
        if (options.optional("on-behalf-of") != null) {
            tokens.setOnBehalfOf(element(options.required("on-behalf-of")));
        }
        if (options.optional("act-as") != null) {
            tokens.setActAs(element(options.required("act-as")));
        }
        Map<String, Object> properties = new HashMap<>(Properties.of(options));
        properties.putAll(Tickets.of(options));
        properties.put(SecurityConstants.SYMMETRIC_SIGNATURE_ALGORITHM, HMAC);
        properties.put(SecurityConstants.STS_TOKEN_CRYPTO, properties.get(SecurityConstants.SIGNATURE_CRYPTO));
        properties.put(SecurityConstants.STS_TOKEN_USERNAME, Keys.OURS);
        tokens.setProperties(properties);
    }

    /**
     * Configures the client of token services that CXF makes itself. A client in the properties of a call would be asked for the
     * contexts of conversations, too.
     */
    private record Configuring(Options options) implements Configurer {
        @Override
        public void configureBean(Object bean) {
        }

        @Override
        public void configureBean(String name, Object bean) {
            if (bean instanceof STSClient tokens && name != null && name.endsWith(BOOTSTRAP)) {
                try {
                    configure(tokens, options);
                } catch (Exception e) {
                    throw new IllegalStateException(e);
                }
            }
        }
    }

    private static String ask(Options options, Bus bus) throws Exception {
        STSClient tokens = tokens(options, bus);
        SecurityToken token = tokens.requestSecurityToken(options.required("applies-to"));
        if (options.is("renew")) {
            // CXF writes this address as that of the service which the token is for.
            token.setIssuerAddress(options.required("applies-to"));
            token = tokens.renewSecurityToken(token);
        }
        Files.writeString(Path.of(options.word(1, "the file for the assertion")), StaxUtils.toString(token.getToken()));
        int bits = token.getSecret() == null ? 0 : token.getSecret().length * Byte.SIZE;
        return "{\"exit\":0,\"bits\":" + bits + "}";
    }

    /** CXF throws where the token service says that it is not valid. */
    private static String validate(Options options, Bus bus) throws Exception {
        SecurityToken token = new SecurityToken("presented", element(options.word(1, "the file with the assertion")), null, null);
        tokens(options, bus).validateSecurityToken(token);
        return null;
    }

    /** Without a reference, CXF sends the assertion itself. */
    private static String cancel(Options options, Bus bus) throws Exception {
        SecurityToken token = new SecurityToken("presented", element(options.word(1, "the file with the assertion")), null, null);
        if (!tokens(options, bus).cancelSecurityToken(token)) {
            throw new TrustException("the token was not cancelled", java.util.logging.Logger.getLogger("cancel"));
        }
        return null;
    }

    private static String call(Options options, Bus bus) throws Exception {
        Service service = Service.create(Path.of(options.required("wsdl")).toUri().toURL(), QName.valueOf(options.required("service")));
        Dispatch<Source> dispatch =
            service.createDispatch(QName.valueOf(options.required("port")), Source.class, Service.Mode.PAYLOAD);
        Map<String, Object> context = dispatch.getRequestContext();
        context.putAll(Properties.of(options));
        context.put(SecurityConstants.SYMMETRIC_SIGNATURE_ALGORITHM, HMAC);
        context.put("find.dispatch.operation", Boolean.TRUE);
        context.putAll(Assertions.of(options));
        if (options.is("conversation")) {
            bus.setExtension(new Configuring(options), Configurer.class);
        } else if (options.optional("tokens-wsdl") != null) {
            context.put(SecurityConstants.STS_CLIENT, tokens(options, bus));
        }
        context.put(Message.ENDPOINT_ADDRESS, options.required("address"));
        if (options.optional("applies-to") != null) {
            context.put(SecurityConstants.STS_APPLIES_TO, options.required("applies-to"));
        }
        Node body = StaxUtils.read(Path.of(options.word(1, "the request")).toFile()).getElementsByTagNameNS("*", "Body").item(0);
        Document payload = body.getOwnerDocument().getImplementation().createDocument(null, null, null);
        payload.appendChild(payload.importNode(body.getFirstChild(), true));
        try {
            for (int calls = Integer.parseInt(options.optional("calls", "1")); calls > 0; calls--) {
                Source answer = dispatch.invoke(new DOMSource(payload));
                Files.writeString(Path.of(options.word(2, "the file for the answer")), StaxUtils.toString(answer));
            }
        } finally {
            ((DispatchImpl<Source>) dispatch).getClient().destroy();
        }
        return null;
    }

    private static Element element(String file) throws Exception {
        return StaxUtils.read(Path.of(file).toFile()).getDocumentElement();
    }
}
