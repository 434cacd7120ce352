import type { App } from '@berth/contract'
import { useMutation } from '@tanstack/react-query'
import { useRouter } from '@tanstack/react-router'
import { call } from '../../api/client.ts'
import { to } from '../../routing/to.ts'
import { refreshAccess } from '../access/queries.ts'
import { keptAs } from '../dialogs.ts'
import { FormDialog, TextField } from '../form-dialog.tsx'
import { forgetKept, useKept } from '../kept.ts'
import { useOrganizationCan } from '../organization-can.ts'
import { slugFault } from './app-fields.ts'

/** Makes an app, and goes on to its page. */
export function NewApp({ organizationId, onClose }: { organizationId: string; onClose: () => void }) {
  const router = useRouter()
  const can = useOrganizationCan()
  const [form, change] = useKept(keptAs('new'), { name: '', slug: '' })
  const name = form.name.trim()
  const create = useMutation({
    mutationFn: () => call<{ app: App }>('POST', 'account/apps', { name, slug: form.slug }),
    onSuccess: ({ app }) => {
      forgetKept(keptAs('new'))
      refreshAccess(organizationId)
      return router.navigate(to.app(app.slug))
    },
  })
  const verdict = can('createApp')
  const fault = slugFault(form.slug)
  const obstacle = name === '' ? 'Enter a name.' : form.slug === '' ? 'Enter a slug.' : (fault ?? null)
  return (
    <FormDialog title="New app" act="Create" action={create} verdict={verdict} obstacle={obstacle} onClose={onClose}>
      <TextField
        label="Name"
        hint="People see it on the page that asks for an installation."
        maxLength={100}
        autoFocus
        value={form.name}
        onChange={name => change({ name })}
      />
      <TextField
        label="Slug"
        hint="Names the app in paths and assertions, for ever: no other app gets it."
        fault={fault}
        exact
        maxLength={63}
        value={form.slug}
        placeholder="web-shop"
        onChange={slug => {
          create.reset()
          change({ slug })
        }}
      />
    </FormDialog>
  )
}
