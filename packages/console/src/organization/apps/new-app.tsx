import type { App } from '@berth/contract'
import { useRouter } from '@tanstack/react-router'
import { call } from '../../api/client.ts'
import { to } from '../../routing/to.ts'
import { refreshAccess } from '../access/queries.ts'
import { keptAs } from '../dialogs.ts'
import { FormDialog, TextField } from '../form-dialog.tsx'
import { useKeptForm } from '../kept-form.ts'
import { useOrganizationCan } from '../organization-can.ts'
import { nameFault, slugFault } from './app-fields.ts'

/** Makes an app, and goes on to its page. */
export function NewApp({ organizationId, onClose }: { organizationId: string; onClose: () => void }) {
  const router = useRouter()
  const can = useOrganizationCan()
  const form = useKeptForm({
    name: keptAs('new'),
    initial: { name: '', slug: '' },
    faultsOf: ({ name, slug }) => ({ name: nameFault(name), slug: slug === '' ? 'Enter a slug.' : slugFault(slug) }),
    send: ({ name, slug }) => call<{ app: App }>('POST', 'account/apps', { name: name.trim(), slug }),
    onSent: ({ app }) => {
      refreshAccess(organizationId)
      return router.navigate(to.app(app.slug))
    },
  })
  return (
    <FormDialog title="New app" act="Create" form={form} verdict={can('createApp')} onClose={onClose}>
      <TextField
        form={form}
        name="name"
        label="Name"
        hint="People see it on the page that asks for an installation."
        maxLength={100}
        autoFocus
      />
      <TextField
        form={form}
        name="slug"
        label="Slug"
        hint="Names the app in paths and assertions, for ever: no other app gets it."
        exact
        maxLength={63}
        placeholder="web-shop"
      />
    </FormDialog>
  )
}
