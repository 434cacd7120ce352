import type { Context } from '../../context.ts'
import type { AccountHandlers } from '../../http/routing/handler.ts'
import { refusal } from '../../kit/refusal.ts'
import { appendAudit } from '../audit/append.ts'
import { endOwnSignIn, listSignIns } from './sign-ins.ts'

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
      await db.transaction(async tx => {
        const now = clock.now()
        const ended = await endOwnSignIn(tx, principal.id, signInId, now)
        if (ended === null) throw refusal('sign_in_not_found')
        if (!ended.isNew) return
        const { organizationId } = ended
        const target = `sign-in/${signInId}`
        const entry = {
          organizationId,
          actor: { kind: 'person', id: principal.id, name: null },
          target,
          address,
          outcome: 'done',
        } as const
        await appendAudit(tx, { ...entry, action: 'sign_in.ended' }, now)
      })
      return { status: 204 }
    },
  }
}
