import type { App, WebhookEndpoint } from '@berth/contract'
import { useMutation } from '@tanstack/react-query'
import { useRouter } from '@tanstack/react-router'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import { to } from '../../routing/to.ts'
import { Field, Select } from '../../ui/field.tsx'
import { keptAs } from '../dialogs.ts'
import { FormDialog, TextField } from '../form-dialog.tsx'
import { forgetKept, useKept } from '../kept.ts'
import { useOrganizationCan } from '../organization-can.ts'
import type { NamedPlace } from './places.ts'
import { refreshWebhooks, webhooksPath } from './queries.ts'
import { SigningSecret } from './signing-secret.tsx'
import { addressFault, familyWords } from './webhook-words.ts'

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Registers an endpoint. Its secret is shown once. */
export function NewWebhook(props: {
  organizationId: string
  apps: readonly App[]
  places: readonly NamedPlace[]
  onClose: () => void
}) {
  const { organizationId, apps, places, onClose } = props
  const router = useRouter()
  const can = useOrganizationCan()
  const [secret, setSecret] = useState<string | null>(null)
  const [form, change] = useKept(keptAs('new'), {
    url: '',
    families: ['run', 'interaction'] as readonly string[],
    app: places[0]?.app ?? apps[0]?.slug ?? '',
    installation: places[0]?.installation ?? '',
  })
  const place = { app: form.app, installation: form.installation.trim() }
  const here = places.filter(({ app }) => app === form.app)
  const isElsewhere = !here.some(({ installation }) => installation === form.installation)
  const url = form.url.trim()
  const register = useMutation({
    mutationFn: () =>
      call<{ endpoint: WebhookEndpoint; secret: string }>('POST', webhooksPath(place), {
        url,
        families: form.families,
      }),
    onSuccess: made => {
      forgetKept(keptAs('new'))
      setSecret(made.secret)
    },
  })
  const made = register.data?.endpoint
  if (secret !== null && made !== undefined) {
    return (
      <SigningSecret
        url={made.url}
        secret={secret}
        onDone={() => {
          refreshWebhooks(organizationId)
          void router.navigate(to.webhook(place.app, place.installation, made.id))
        }}
      />
    )
  }
  const verdict = can('registerWebhook')
  const fault = addressFault(url)
  const obstacle =
    apps.length === 0
      ? 'Make an app first: webhooks belong to the installations of apps.'
      : url === ''
        ? 'Enter an address.'
        : (fault ??
          (form.families.length === 0
            ? 'Choose at least one kind of event.'
            : uuid.test(place.installation)
              ? null
              : 'Choose an installation.'))
  return (
    <FormDialog
      title="New webhook endpoint"
      act="Register"
      action={register}
      verdict={verdict}
      obstacle={obstacle}
      onClose={onClose}
    >
      <TextField
        label="Address"
        hint="A public https address. Berth sends signed POST requests to it."
        fault={fault}
        exact
        type="url"
        inputMode="url"
        maxLength={2048}
        autoFocus
        placeholder="https://hooks.example.com/berth"
        value={form.url}
        onChange={url => {
          register.reset()
          change({ url })
        }}
      />
      <div className="grid gap-4 sm:grid-cols-2">
        <Field label="App">
          {attributes => (
            <Select
              {...attributes}
              value={form.app}
              onChange={event => {
                const app = event.target.value
                change({ app, installation: places.find(other => other.app === app)?.installation ?? '' })
              }}
            >
              {apps.map(({ slug, name }) => (
                <option key={slug} value={slug}>
                  {name}
                </option>
              ))}
            </Select>
          )}
        </Field>
        <Field label="Installation" hint="Its Sessions are what the endpoint hears of.">
          {attributes => (
            <Select
              {...attributes}
              value={isElsewhere ? '' : form.installation}
              onChange={event => change({ installation: event.target.value })}
            >
              {here.map(({ installation, name }) => (
                <option key={installation} value={installation}>
                  {name}
                </option>
              ))}
              <option value="">In another organization…</option>
            </Select>
          )}
        </Field>
      </div>
      {isElsewhere && (
        <TextField
          label="Id of the installation"
          hint="The backend of the app got it when the installation was allowed."
          exact
          value={form.installation}
          onChange={installation => change({ installation })}
        />
      )}
      <fieldset>
        <legend className="mb-2 text-[0.8125rem] font-medium">Hears of</legend>
        <div className="grid gap-2.5 sm:grid-cols-2">
          {Object.entries(familyWords).map(([family, [name, means]]) => (
            <label key={family} className="flex items-start gap-2.5 text-[0.8125rem]">
              <input
                type="checkbox"
                className="mt-0.5 size-4 shrink-0 accent-accent"
                checked={form.families.includes(family)}
                onChange={event =>
                  change({
                    families: event.target.checked
                      ? [...form.families, family]
                      : form.families.filter(other => other !== family),
                  })
                }
              />
              <span>
                {name}
                <span className="block text-xs text-ink-3">{means}</span>
              </span>
            </label>
          ))}
        </div>
      </fieldset>
    </FormDialog>
  )
}
