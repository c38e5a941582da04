/**
 * The login by OAUTHBEARER (RFC 7628), for kafkajs, whose own treats a refused token as accepted.
 *
 * What must stay true: anything but an empty answer is a refusal, and reported with the broker's
 * reason; the token is requested at every login.
 */
import type { AuthenticationProviderArgs, Authenticator } from 'kafkajs'
import { BrokerError, CODE } from '../failure.ts'

const SEPARATOR = '\u0001'

export function oauthBearer(
  token: () => Promise<string>,
): (args: AuthenticationProviderArgs) => Authenticator {
  return ({ saslAuthenticate }) => ({
    authenticate: async () => {
      const said = `n,,${SEPARATOR}auth=Bearer ${await token()}${SEPARATOR}${SEPARATOR}`
      const answer = await saslAuthenticate<string>({
        request: { encode: () => sized(Buffer.from(said)) },
        response: {
          // Both have their size before them.
          decode: (raw) => raw.subarray(4),
          parse: (data) => data.toString(),
        },
      })
      if (answer === undefined || answer === '') return
      throw new BrokerError(CODE.saslAuthentication, `the token is refused: ${answer}`)
    },
  })
}

function sized(bytes: Buffer): Buffer {
  const size = Buffer.alloc(4)
  size.writeInt32BE(bytes.length)
  return Buffer.concat([size, bytes])
}
