import type { OrganizationSettings } from '@berth/contract'
import { useState } from 'react'
import { Field, inputClass } from '../../ui/field.tsx'
import { Part } from '../limits/limits-page.tsx'
import { saveOwn } from '../limits/queries.ts'
import { faultyForm, SettingsForm } from '../settings-form.tsx'
import { type FollowUps, followFields, readFollowUps } from './follow-ups.ts'

/** Edits when a follow-up of a pull request stops, and when its base is brought in. */
export function FollowUpsForm({ followUps }: { followUps: OrganizationSettings['followUps'] }) {
  const [typed, setTyped] = useState<Partial<Record<keyof FollowUps, string>>>({})
  const { texts, faults, changed } = readFollowUps(followUps, typed)
  return (
    <Part
      title="Pull requests that are followed"
      about="Sessions answer reviews and failed checks of the pull requests that they follow, until the merge. People at the Git host stop one by taking its label or its assignee away."
    >
      <SettingsForm
        label="Pull requests that are followed"
        action="changeFollowUps"
        dirty={Object.keys(changed).length > 0}
        obstacle={Object.keys(faults).length > 0 ? faultyForm : null}
        send={() => saveOwn({ followUps: changed })}
        onSaved={() => setTyped({})}
      >
        <div className="grid gap-4 sm:grid-cols-3">
          {followFields.map(({ name, label, hint, usual }) => (
            <Field key={name} label={label} hint={hint} fault={faults[name]}>
              {attributes => (
                <input
                  {...attributes}
                  autoComplete="off"
                  inputMode={name === 'baseCommits' ? 'numeric' : 'text'}
                  placeholder={usual}
                  value={texts[name]}
                  onChange={({ target }) => setTyped(before => ({ ...before, [name]: target.value }))}
                  className={inputClass}
                />
              )}
            </Field>
          ))}
        </div>
      </SettingsForm>
    </Part>
  )
}
