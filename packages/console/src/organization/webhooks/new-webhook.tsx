import type { App } from '@berth/contract'
import { useRouter } from '@tanstack/react-router'
import { to } from '../../routing/to.ts'
import { TickBox } from '../../ui/tick-box.tsx'
import { keptAs } from '../dialogs.ts'
import { ChoiceField, FormDialog, TextField, withTick } from '../form-dialog.tsx'
import { useKeptForm } from '../kept-form.ts'
import { useOrganizationCan } from '../organization-can.ts'
import type { NamedPlace } from './places.ts'
import { refreshWebhooks, registerEndpoint } from './queries.ts'
import { SigningSecret } from './signing-secret.tsx'
import { addressFault, familyLabel, isUuid } from './webhook-labels.ts'

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
  const form = useKeptForm({
    name: keptAs('new'),
    initial: {
      url: '',
      families: ['run', 'interaction'] as readonly string[],
      app: places[0]?.app ?? apps[0]?.slug ?? '',
      installation: places[0]?.installation ?? '',
    },
    faultsOf: ({ url, families, installation }) => ({
      app: apps.length === 0 ? 'Make an app first: webhooks belong to the installations of apps.' : undefined,
      url: url.trim() === '' ? 'Enter an address.' : addressFault(url.trim()),
      families: families.length === 0 ? 'Choose at least one kind of event.' : undefined,
      installation: isUuid(installation) ? undefined : 'Choose an installation.',
    }),
    send: async ({ url, families, app, installation }) => {
      const place = { app, installation: installation.trim() }
      return { place, ...(await registerEndpoint(place, { url: url.trim(), families })) }
    },
  })
  const { fields, values, action } = form
  const own = places.filter(({ app }) => app === values.app)
  const isElsewhere = !own.some(({ installation }) => installation === values.installation)
  if (action.data !== undefined) {
    const { place, endpoint, secret } = action.data
    return (
      <SigningSecret
        url={endpoint.url}
        secret={secret}
        onDone={() => {
          refreshWebhooks(organizationId)
          void router.navigate(to.webhook(place.app, place.installation, endpoint.id))
        }}
      />
    )
  }
  return (
    <FormDialog
      title="New webhook endpoint"
      act="Register"
      form={form}
      verdict={can('registerWebhook')}
      onClose={onClose}
    >
      <TextField
        form={form}
        name="url"
        label="Address"
        hint="A public https address. Berth sends signed POST requests to it."
        exact
        type="url"
        inputMode="url"
        maxLength={2048}
        autoFocus
        placeholder="https://hooks.example.com/berth"
      />
      <div className="grid gap-4 sm:grid-cols-2">
        <ChoiceField
          label="App"
          choices={apps.map(({ slug, name }) => [slug, name])}
          value={values.app}
          onChange={({ target: { value: app } }) => {
            fields.setValue('app', app)
            fields.setValue('installation', places.find(other => other.app === app)?.installation ?? '')
          }}
        />
        <ChoiceField
          label="Installation"
          hint="Its Sessions are what the endpoint hears of."
          choices={[
            ...own.map(({ installation, name }) => [installation, name] as const),
            ['', 'In another organization…'],
          ]}
          value={isElsewhere ? '' : values.installation}
          onChange={event => fields.setValue('installation', event.target.value)}
        />
      </div>
      {isElsewhere && (
        <TextField
          form={form}
          name="installation"
          label="Id of the installation"
          hint="The backend of the app got it when the installation was allowed."
          exact
        />
      )}
      <fieldset>
        <legend className="mb-2 text-[0.8125rem] font-medium">Hears of</legend>
        <div className="grid gap-2.5 sm:grid-cols-2">
          {Object.entries(familyLabel).map(([family, [name, means]]) => (
            <TickBox
              key={family}
              means={means}
              checked={values.families.includes(family)}
              onChange={event => fields.setValue('families', withTick(values.families, family, event.target.checked))}
            >
              {name}
            </TickBox>
          ))}
        </div>
      </fieldset>
    </FormDialog>
  )
}
