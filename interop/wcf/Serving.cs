using System;
using System.Collections.Generic;
using System.IdentityModel.Selectors;
using System.IdentityModel.Tokens;
using System.ServiceModel;
using System.ServiceModel.Description;
using System.ServiceModel.Security;

namespace Soapstone.Interop {
    /// <summary>Services, for as long as the program runs.</summary>
    static class Serving {
        static readonly List<ServiceHost> Hosts = new List<ServiceHost>();

        public static string Serve(Options options) {
            Type contract = typeof(IEcho), implementation = typeof(Echoing);
            if (options.Or("payloads", null) != null) {
                Payloads.In(options["payloads"]);
                var operation = Operation.Of(options);
                contract = operation.Contract;
                implementation = operation.Implementation;
            }
            var host = new ServiceHost(implementation);
            var credentials = new LenientServiceCredentials();
            credentials.ServiceCertificate.Certificate = Certificates.Ours(options);
            credentials.ClientCertificate.Certificate = Certificates.Theirs(options);
            Certificates.Trust(credentials.ClientCertificate.Authentication, options);
            credentials.UserNameAuthentication.UserNamePasswordValidationMode = UserNamePasswordValidationMode.Custom;
            credentials.UserNameAuthentication.CustomUserNamePasswordValidator = new OneUser(options);
            host.Description.Behaviors.Remove(typeof(ServiceCredentials));
            host.Description.Behaviors.Add(credentials);
            host.AddServiceEndpoint(contract, Bindings.Of(options), options["address"]);
            host.Open();
            Hosts.Add(host);
            return options["address"];
        }

        sealed class OneUser : UserNamePasswordValidator {
            readonly string name, password;

            public OneUser(Options options) {
                name = options.Or("user", null);
                password = options.Or("password", null);
            }

            public override void Validate(string user, string word) {
                if (name == null || user != name || word != password) {
                    throw new SecurityTokenException("nobody with this name and password");
                }
            }
        }
    }
}
