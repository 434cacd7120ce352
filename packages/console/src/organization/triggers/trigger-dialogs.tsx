import type { Trigger } from '@berth/contract'
import { useMutation } from '@tanstack/react-query'
import { useRouter } from '@tanstack/react-router'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import { to } from '../../routing/to.ts'
import { Confirm } from '../../ui/confirm.tsx'
import { Field, inputClass } from '../../ui/field.tsx'
import { keptAs } from '../dialogs.ts'
import { FormDialog, ShownOnce } from '../form-dialog.tsx'
import { useKeptForm } from '../kept-form.ts'
import { useOrganizationCan } from '../organization-can.ts'
import { ActionProblem } from '../step-up.tsx'
import { refreshTriggers } from './queries.ts'

interface DialogProps {
  readonly organizationId: string
  readonly trigger: Trigger
  readonly onClose: () => void
}

/** Makes a secret, or takes the one that Slack or Linear has chosen. */
export function ReplaceSecret({ organizationId, trigger, onClose }: DialogProps) {
  const scheme = trigger.hook?.scheme ?? 'svc'
  const isTheirs = scheme === 'slack' || scheme === 'linear'
  const can = useOrganizationCan()
  // Not in the form, which is kept in the tab.
  const [chosen, setChosen] = useState('')
  const form = useKeptForm({
    name: keptAs('secret'),
    initial: {},
    send: () =>
      call<{ secret: string; url: string }>(
        'POST',
        `v1/triggers/${trigger.id}/secret`,
        isTheirs ? { secret: chosen } : {},
      ),
    onSent: () => {
      refreshTriggers(organizationId)
      if (isTheirs) onClose()
    },
  })
  const { data } = form.action
  if (data !== undefined && !isTheirs) {
    return (
      <ShownOnce title="Copy the secret now" label={`Secret of ${data.url}`} value={data.secret} onDone={onClose}>
        It is shown this once. Enter it with the address where the deliveries come from.
      </ShownOnce>
    )
  }
  const isReplaced = trigger.hook?.hasSecret === true
  return (
    <FormDialog
      title={isReplaced ? 'Replace the secret' : isTheirs ? 'Enter the secret' : 'Make a secret'}
      about={
        isReplaced
          ? 'The secret before stays good for a day.'
          : 'Without a secret, everything that is posted to the trigger is refused.'
      }
      act={isTheirs ? 'Save' : 'Make the secret'}
      form={form}
      verdict={can('writeTrigger')}
      obstacle={
        isTheirs && !/^[!-~]{8,200}$/.test(chosen) ? 'Enter the signing secret that the other system shows.' : null
      }
      onClose={onClose}
    >
      {isTheirs && (
        <Field label="Signing secret" hint={`${scheme === 'slack' ? 'Slack' : 'Linear'} shows it with the webhook.`}>
          {attributes => (
            <input
              {...attributes}
              type="password"
              autoComplete="off"
              className={`${inputClass} font-mono text-[0.8125rem]`}
              value={chosen}
              onChange={event => setChosen(event.target.value)}
            />
          )}
        </Field>
      )}
    </FormDialog>
  )
}

/** Deletes a trigger. */
export function DeleteTrigger({ organizationId, trigger, onClose }: DialogProps) {
  const router = useRouter()
  const can = useOrganizationCan()
  const remove = useMutation({
    mutationFn: () => call('DELETE', `v1/triggers/${trigger.id}`),
    onSuccess: async () => {
      await router.navigate({ ...to.triggers(), replace: true })
      refreshTriggers(organizationId)
    },
  })
  return (
    <Confirm
      title={`Delete ${trigger.name}?`}
      act="Delete the trigger"
      verdict={can('deleteTrigger')}
      busy={remove.isPending}
      problem={<ActionProblem error={remove.error} />}
      onAct={() => remove.mutate()}
      onClose={onClose}
    >
      <p>
        Its Sessions stay. Deliveries that wait are dropped, and its log goes. What posts to it is refused from now on.
      </p>
    </Confirm>
  )
}
