import { AccountClient } from '@berth/core/accounts/far/account-client.ts'
import { CopiedRows } from '@berth/core/accounts/far/copied-rows.ts'
import { FarAuthority } from '@berth/core/accounts/far/far-authority.ts'
import { FarGatewayJudge } from '@berth/core/accounts/far/far-gateway-judge.ts'
import type { Guards } from '@berth/core/accounts/far/internal-routes.ts'
import { RevocationFollower } from '@berth/core/accounts/far/revocation-follower.ts'
import type { Context } from '@berth/core/context.ts'
import { DatabaseAuthority } from '@berth/core/identity/guard/authority.ts'
import { DatabaseGatewayJudge } from '@berth/core/identity/guard/gateway-judge.ts'
import type { TokenVerifier } from '@berth/core/identity/tokens/token-verifier.ts'
import { PeriodicTasks } from '@berth/platform/kit/periodic-tasks.ts'
import type { Settings } from '@berth/platform/settings/settings.ts'

/**
 * Opens the guards of this process. They judge in its database, or at an account service that has another one; the
 * process then follows the revocations of that service.
 * @returns `far` reaches an account service that has another database
 */
export async function openGuards(
  context: Context,
  { identity, limits, gateway }: Settings,
  tokens: TokenVerifier,
  stack: AsyncDisposableStack,
): Promise<Guards & { readonly far?: AccountClient }> {
  const { db, clock, log } = context
  const local = new DatabaseGatewayJudge(db, clock, tokens, { gateway: gateway.rate, edge: limits.edge })
  if (identity.far === undefined) return { api: new DatabaseAuthority(db, clock, tokens, limits), gateway: local }
  const account = stack.use(new AccountClient(identity.far, log))
  const copies = new CopiedRows(db, clock)
  await stack.use(new PeriodicTasks([new RevocationFollower({ account, copies }, context)])).start()
  return {
    far: account,
    api: new FarAuthority(account, copies),
    gateway: new FarGatewayJudge({ account, copies }, db, clock, local),
  }
}
