using System.ServiceModel.Channels;
using System.Text;

namespace Soapstone.Interop {
    /// <summary>An encoding around text as WCF's own encoder reads and writes it.</summary>
    abstract class AroundText : MessageEncodingBindingElement {
        protected readonly TextMessageEncodingBindingElement text;

        protected AroundText(MessageVersion version) {
            text = new TextMessageEncodingBindingElement(version, new UTF8Encoding(false));
        }

        /// <summary>The encoder around WCF's own.</summary>
        protected abstract MessageEncoder Around(MessageEncoder encoder);

        public override MessageVersion MessageVersion {
            get { return text.MessageVersion; }
            set { text.MessageVersion = value; }
        }

        public override MessageEncoderFactory CreateMessageEncoderFactory() {
            return new Factory(text.CreateMessageEncoderFactory(), this);
        }

        public override IChannelFactory<Channel> BuildChannelFactory<Channel>(BindingContext context) {
            context.BindingParameters.Add(this);
            return context.BuildInnerChannelFactory<Channel>();
        }

        public override bool CanBuildChannelFactory<Channel>(BindingContext context) {
            return context.CanBuildInnerChannelFactory<Channel>();
        }

        public override IChannelListener<Channel> BuildChannelListener<Channel>(BindingContext context) {
            context.BindingParameters.Add(this);
            return context.BuildInnerChannelListener<Channel>();
        }

        public override bool CanBuildChannelListener<Channel>(BindingContext context) {
            return context.CanBuildInnerChannelListener<Channel>();
        }

        public override Property GetProperty<Property>(BindingContext context) {
            return text.GetProperty<Property>(context);
        }

        sealed class Factory : MessageEncoderFactory {
            readonly MessageEncoderFactory text;
            readonly MessageEncoder encoder;

            public Factory(MessageEncoderFactory text, AroundText element) {
                this.text = text;
                encoder = element.Around(text.Encoder);
            }

            public override MessageEncoder Encoder {
                get { return encoder; }
            }

            public override MessageVersion MessageVersion {
                get { return text.MessageVersion; }
            }
        }

        /// <summary>An encoder that says of itself what WCF's own says.</summary>
        protected abstract class Encoding : MessageEncoder {
            protected readonly MessageEncoder text;

            protected Encoding(MessageEncoder text) {
                this.text = text;
            }

            public override string ContentType {
                get { return text.ContentType; }
            }

            public override string MediaType {
                get { return text.MediaType; }
            }

            public override MessageVersion MessageVersion {
                get { return text.MessageVersion; }
            }
        }
    }
}
