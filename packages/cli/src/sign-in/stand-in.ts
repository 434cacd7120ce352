import { type Connection, connect } from '../connection.ts'
import { endedSignIn } from '../failure.ts'
import { ServiceClock } from '../service-clock.ts'

/**
 * Returns the connection that a command uses. A local service whose data was deleted begins anew at the same URL and knows
 * no earlier sign-in: its own key stands in for one that it refuses. Only where there is such a key is the service asked.
 * @param say tells the person that it does
 */
export async function standIn(connection: Connection, report: (line: string) => Promise<void>): Promise<Connection> {
  const { standIn: local, origin } = connection
  if (local === undefined || origin.kind !== 'profile' || local.origin.kind !== 'key') return connection
  try {
    await connect(connection, new ServiceClock()).call('getMe', {}, { retry: { attempts: 1 } })
    return connection
  } catch (failure) {
    if (endedSignIn(failure, connection) === null) return connection
  }
  await report(
    `the sign-in of profile ${origin.name} has ended, so this uses the key in ${local.origin.from}; \`berth login --profile ${origin.name}\` signs in again`,
  )
  return local
}
