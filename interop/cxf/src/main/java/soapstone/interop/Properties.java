package soapstone.interop;

import java.util.HashMap;
import java.util.Map;

import javax.security.auth.callback.Callback;
import javax.security.auth.callback.CallbackHandler;

import org.apache.cxf.ws.security.SecurityConstants;
import org.apache.wss4j.common.crypto.Crypto;
import org.apache.wss4j.common.ext.WSPasswordCallback;

/** Keys, passwords and trust as the properties that CXF's policy handlers ask for. */
final class Properties {
    private static final long MILLISECONDS = 1_000;

    private Properties() {
    }

    /** For the messages themselves and, with the suffix that CXF expects, for the bootstrap of a conversation. */
    static Map<String, Object> of(Options options) {
        Crypto crypto = Keys.crypto(options);
        Map<String, Object> properties = new HashMap<>();
        properties.put(SecurityConstants.SIGNATURE_CRYPTO, crypto);
        properties.put(SecurityConstants.ENCRYPT_CRYPTO, crypto);
        properties.put(SecurityConstants.SIGNATURE_USERNAME, Keys.OURS);
        properties.put(SecurityConstants.ENCRYPT_USERNAME, Keys.PEER);
        properties.put(SecurityConstants.CALLBACK_HANDLER, passwords(options));
        if (options.optional("user") != null) {
            properties.put(SecurityConstants.USERNAME, options.required("user"));
        }
        if (options.optional("signature") != null) {
            properties.put(SecurityConstants.ASYMMETRIC_SIGNATURE_ALGORITHM, options.required("signature"));
        }
        if (options.optional("lifetime") != null) {
            long seconds = Long.parseLong(options.required("lifetime"));
            properties.put(SecurityConstants.SECURITY_TOKEN_LIFETIME, String.valueOf(seconds * MILLISECONDS));
        }
        Map<String, Object> both = new HashMap<>(properties);
        properties.forEach((name, value) -> both.put(name + ".sct", value));
        return both;
    }

    static CallbackHandler passwords(Options options) {
        return callbacks -> {
            for (Callback callback : callbacks) {
                WSPasswordCallback asked = (WSPasswordCallback) callback;
                if (asked.getUsage() == WSPasswordCallback.USERNAME_TOKEN) {
                    if (asked.getIdentifier().equals(options.optional("user"))) {
                        asked.setPassword(options.required("password"));
                    }
                } else {
                    asked.setPassword(Keys.STORE_PASSWORD);
                }
            }
        };
    }
}
