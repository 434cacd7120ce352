import type { Connection } from '@berth/contract'
import { useMutation } from '@tanstack/react-query'
import { queryClient } from '../../api/queries.ts'
import { Button } from '../../ui/button.tsx'
import { Confirm } from '../../ui/confirm.tsx'
import { DialogButtons, Overlay } from '../../ui/overlay.tsx'
import { printableLine } from '../../ui/printable.ts'
import { useOrganizationCan } from '../organization-can.ts'
import { ActionProblem } from '../step-up.tsx'
import { hostName } from './git-labels.ts'
import { changeAccess, connect, connectionsQuery, disconnect, type GitAccount } from './queries.ts'

interface DialogProps {
  readonly organizationId: string
  readonly onClose: () => void
}

/** Reads again the organization's connections, and the repositories that Sessions can start from. */
export const refreshConnections = (organizationId: string) => {
  void queryClient.invalidateQueries({ queryKey: connectionsQuery(organizationId).queryKey })
  void queryClient.invalidateQueries({ queryKey: ['git-accounts'] })
  void queryClient.invalidateQueries({ queryKey: ['repositories'] })
}

/** Connects the organization to an account that its apps reach. */
export function ConnectDialog({ organizationId, account, onClose }: DialogProps & { account: GitAccount }) {
  const can = useOrganizationCan()
  const add = useMutation({
    mutationFn: () => connect(organizationId, account),
    onSuccess: () => {
      refreshConnections(organizationId)
      onClose()
    },
  })
  return (
    <Overlay title={`Connect ${printableLine(account.accountLogin)}?`} onClose={onClose}>
      <div className="flex flex-col gap-4 px-5 pb-5">
        <p className="text-[0.8125rem] text-ink-2">
          Everybody in the organization can then start Sessions on the repositories of this account at{' '}
          {hostName(account)} that your apps were granted, and publish to them.
        </p>
        <ActionProblem error={add.error} />
        <DialogButtons>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            variant="primary"
            hint="above"
            busy={add.isPending}
            verdict={can('changeConnections')}
            onClick={() => add.mutate()}
          >
            Connect
          </Button>
        </DialogButtons>
      </div>
    </Overlay>
  )
}

/** Ends a connection of the organization. */
export function DisconnectDialog({ organizationId, connection, onClose }: DialogProps & { connection: Connection }) {
  const can = useOrganizationCan()
  const remove = useMutation({
    mutationFn: () => disconnect(organizationId, connection.id),
    onSuccess: () => {
      refreshConnections(organizationId)
      onClose()
    },
  })
  return (
    <Confirm
      title={`Disconnect ${printableLine(connection.accountLogin)}?`}
      act="Disconnect"
      verdict={can('changeConnections')}
      busy={remove.isPending}
      problem={<ActionProblem error={remove.error} />}
      onAct={() => remove.mutate()}
      onClose={onClose}
    >
      <p>
        Nothing is checked out, pushed or merged under it any more: Sessions on its repositories cannot publish, and
        nobody can start one. Their logs, changes and pull requests stay.
      </p>
      <p>Apps that you granted the same repositories keep them.</p>
    </Confirm>
  )
}

/** Says whether people need access of their own for the repositories of a connection. */
export function AccessDialog({ organizationId, connection, onClose }: DialogProps & { connection: Connection }) {
  const can = useOrganizationCan()
  const { personalAccess } = connection
  const change = useMutation({
    mutationFn: () => changeAccess(organizationId, connection.id, !personalAccess),
    onSuccess: () => {
      refreshConnections(organizationId)
      onClose()
    },
  })
  return (
    <Overlay title={`Who may work with ${printableLine(connection.accountLogin)}?`} onClose={onClose}>
      <div className="flex flex-col gap-4 px-5 pb-5">
        <p className="text-[0.8125rem] text-ink-2">
          {personalAccess
            ? 'People start Sessions only on repositories that their own account reaches, and publish only where it may push.'
            : 'Everybody in the organization starts Sessions on its repositories, and publishes to them.'}
        </p>
        <p className="text-[0.8125rem] text-ink-2">
          {personalAccess
            ? 'You can let in everybody here, whatever their access at the Git host.'
            : 'You can ask everybody for an account of their own: the Git host then decides who reaches which repository. Sessions that exist stay visible to all.'}
        </p>
        <ActionProblem error={change.error} />
        <div className="flex flex-wrap gap-2">
          <Button
            variant="primary"
            busy={change.isPending}
            verdict={can('changeConnections')}
            onClick={() => change.mutate()}
          >
            {personalAccess ? 'Let everybody in' : 'Ask for access of their own'}
          </Button>
          <Button onClick={onClose}>Cancel</Button>
        </div>
      </div>
    </Overlay>
  )
}
