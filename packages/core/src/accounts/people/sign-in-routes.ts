import { refusal } from '@berth/platform/kit/refusal.ts'
import type { Context } from '../../context.ts'
import type { AccountHandlers } from '../../http/routing/handler.ts'
import { endSignInOf } from './end-sign-in.ts'
import { listSignIns } from './sign-ins.ts'

/** The operations by which people see where they are signed in, and end sign-ins. */
export function signInHandlers({
  db,
  clock,
}: Pick<Context, 'db' | 'clock'>): Pick<AccountHandlers, 'listSignIns' | 'endSignIn'> {
  return {
    listSignIns: async ({ principal }) => ({
      status: 200,
      body: { success: true, signIns: await listSignIns(db, principal.id, principal.signInId) },
    }),

    endSignIn: async ({ principal, params: { signInId }, clientAddress: address }) => {
      const has = await db.transaction(tx =>
        endSignInOf(tx, { personId: principal.id, signInId, address }, clock.now()),
      )
      if (!has) throw refusal('sign_in_not_found')
      return { status: 204 }
    },
  }
}
