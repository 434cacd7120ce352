import type { Compute, OwnHost } from '@berth/contract'
import { useMutation } from '@tanstack/react-query'
import { Confirm } from '../../ui/confirm.tsx'
import { keptAs } from '../dialogs.ts'
import { FormDialog, TextField } from '../form-dialog.tsx'
import { useKeptForm } from '../kept-form.ts'
import { useOrganizationCan } from '../organization-can.ts'
import { ActionProblem } from '../step-up.tsx'
import { readCapacity } from './compute-labels.ts'
import { admitHost, loseHost, removeHost, setRunsOn } from './queries.ts'

/** Admits a machine of the organization. */
export function AdmitDialog({ onAdmitted, onClose }: { onAdmitted: (token: string) => void; onClose: () => void }) {
  const can = useOrganizationCan()
  const form = useKeptForm({
    name: keptAs('admit'),
    initial: { name: '', capacity: '' },
    faultsOf: ({ name, capacity }) => {
      const read = readCapacity(capacity)
      return {
        name: name.trim() === '' ? 'Name the machine first.' : undefined,
        capacity: 'fault' in read ? read.fault : undefined,
      }
    },
    send: ({ name, capacity }) => {
      const read = readCapacity(capacity)
      return admitHost(name.trim(), 'value' in read ? read.value : null)
    },
    onSent: ({ token }) => onAdmitted(token),
  })
  return (
    <FormDialog
      title="Add a machine"
      about="It dials the service with a token and gets sandboxes of your organization alone. No port of it is open to anybody."
      act="Add it"
      form={form}
      verdict={can('changeCompute')}
      onClose={onClose}
    >
      <TextField form={form} name="name" label="Name" maxLength={100} />
      <TextField
        form={form}
        name="capacity"
        label="Sandboxes at most"
        hint="Nothing: as many as the machine says."
        inputMode="numeric"
      />
    </FormDialog>
  )
}

/** Binds the organization to its own machines, or lets it run on any. */
export function RunsOnDialog({ compute, onClose }: { compute: Compute; onClose: () => void }) {
  const can = useOrganizationCan()
  const isBound = compute.runsOn === 'own_hosts'
  const set = useMutation({
    mutationFn: () => setRunsOn(isBound ? 'any_host' : 'own_hosts'),
    onSuccess: onClose,
  })
  const act = isBound ? 'Run on any machine' : 'Run on your own machines only'
  return (
    <Confirm
      title={`${act}?`}
      act={act}
      verdict={can('changeCompute')}
      busy={set.isPending}
      problem={<ActionProblem error={set.error} />}
      onAct={() => set.mutate()}
      onClose={onClose}
    >
      <p>
        {isBound
          ? 'Sessions can then get sandboxes on machines that your operator shares with other organizations.'
          : 'Sessions then get sandboxes on machines of your organization alone. Sandboxes that rest elsewhere are given back; what runs there now ends there. Without such a machine, new work is refused.'}
      </p>
    </Confirm>
  )
}

/** Waits no longer for a machine that is silent. */
export function LostDialog({ host, onClose }: { host: OwnHost; onClose: () => void }) {
  const can = useOrganizationCan()
  const lose = useMutation({ mutationFn: () => loseHost(host), onSuccess: onClose })
  return (
    <Confirm
      title={`Is ${host.name} gone for good?`}
      act="Declare it lost"
      verdict={can('changeCompute')}
      busy={lose.isPending}
      problem={<ActionProblem error={lose.error} />}
      onAct={() => lose.mutate()}
      onClose={onClose}
    >
      <p>
        Its Sessions go on elsewhere at once, from their checkpoints. What its sandboxes hold beyond those is lost, even
        if the machine comes back.
      </p>
    </Confirm>
  )
}

/** Takes the token of a machine away. */
export function RemoveDialog({ host, onClose }: { host: OwnHost; onClose: () => void }) {
  const can = useOrganizationCan()
  const remove = useMutation({ mutationFn: () => removeHost(host), onSuccess: onClose })
  return (
    <Confirm
      title={`Remove ${host.name}?`}
      act="Remove"
      verdict={can('changeCompute')}
      busy={remove.isPending}
      problem={<ActionProblem error={remove.error} />}
      onAct={() => remove.mutate()}
      onClose={onClose}
    >
      <p>Its token admits nobody any more. A machine that holds sandboxes has to be drained first.</p>
    </Confirm>
  )
}
