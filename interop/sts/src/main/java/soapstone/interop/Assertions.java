package soapstone.interop;

import java.io.IOException;
import java.util.Map;

import javax.security.auth.callback.Callback;
import javax.security.auth.callback.CallbackHandler;

import org.apache.cxf.ws.security.SecurityConstants;
import org.apache.wss4j.common.saml.SAMLCallback;

/** Assertions that CXF's client makes itself where a policy wants them, as the options of {@link AssertionIssuer} say. */
final class Assertions {
    private Assertions() {
    }

    /** For the messages themselves and, with the suffix that CXF expects, for the bootstrap of a conversation. */
    static Map<String, Object> of(Options options) {
        if (options.optional("confirmation") == null) {
            return Map.of();
        }
        CallbackHandler handler = callbacks -> {
            for (Callback callback : callbacks) {
                tell((SAMLCallback) callback, options);
            }
        };
        String name = SecurityConstants.SAML_CALLBACK_HANDLER;
        return Map.of(name, handler, name + ".sct", handler);
    }

    private static void tell(SAMLCallback asked, Options options) throws IOException {
        try {
            new AssertionIssuer(options).tell(asked);
        } catch (Exception e) {
            throw new IOException(e);
        }
    }
}
