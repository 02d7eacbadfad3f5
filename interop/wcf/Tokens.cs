using System.IdentityModel.Selectors;
using System.IdentityModel.Tokens;
using System.Linq;
using System.ServiceModel.Description;
using System.ServiceModel.Security;
using System.Xml;

namespace Soapstone.Interop {
    /// <summary>
    /// Reads references to derived keys that say of what type they are (WS-SecureConversation 1.4, 7.1), which Mono's serializer does not know.
    /// </summary>
    sealed class LenientSerializer : WSSecurityTokenSerializer {
        const string Secext = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd";
        const string DerivedKey = "http://schemas.xmlsoap.org/ws/2005/02/sc/dk";

        protected override SecurityKeyIdentifierClause ReadKeyIdentifierClauseCore(XmlReader reader) {
            var document = new XmlDocument { PreserveWhitespace = true };
            document.AppendChild(document.ReadNode(reader));
            foreach (var reference in document.GetElementsByTagName("Reference", Secext).OfType<XmlElement>()) {
                if (reference.GetAttribute("ValueType") == DerivedKey) {
                    reference.RemoveAttribute("ValueType");
                }
            }
            var clause = new XmlNodeReader(document.DocumentElement);
            clause.MoveToContent();
            return base.ReadKeyIdentifierClauseCore(clause);
        }
    }

    sealed class LenientClientCredentials : ClientCredentials {
        public LenientClientCredentials() {
        }

        LenientClientCredentials(LenientClientCredentials other) : base(other) {
        }

        protected override ClientCredentials CloneCore() {
            return new LenientClientCredentials(this);
        }

        public override SecurityTokenManager CreateSecurityTokenManager() {
            return new Manager(this);
        }

        sealed class Manager : System.ServiceModel.ClientCredentialsSecurityTokenManager {
            public Manager(ClientCredentials credentials) : base(credentials) {
            }

            public override SecurityTokenSerializer CreateSecurityTokenSerializer(SecurityTokenVersion version) {
                return new LenientSerializer();
            }
        }
    }

    sealed class LenientServiceCredentials : ServiceCredentials {
        public LenientServiceCredentials() {
        }

        LenientServiceCredentials(LenientServiceCredentials other) : base(other) {
        }

        protected override ServiceCredentials CloneCore() {
            return new LenientServiceCredentials(this);
        }

        public override SecurityTokenManager CreateSecurityTokenManager() {
            return new Manager(this);
        }

        sealed class Manager : ServiceCredentialsSecurityTokenManager {
            public Manager(ServiceCredentials credentials) : base(credentials) {
            }

            public override SecurityTokenSerializer CreateSecurityTokenSerializer(SecurityTokenVersion version) {
                return new LenientSerializer();
            }
        }
    }
}
