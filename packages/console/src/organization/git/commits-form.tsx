import type { OrganizationSettings } from '@berth/contract'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { queryClient } from '../../api/queries.ts'
import { Button } from '../../ui/button.tsx'
import { Field, Select } from '../../ui/field.tsx'
import { InlineProblem } from '../../ui/states.tsx'
import { TickBox } from '../form-dialog.tsx'
import { Part } from '../limits/limits-page.tsx'
import { saveOwn, settingsQuery } from '../limits/queries.ts'
import { useOrganizationCan } from '../organization-can.ts'

type Commits = OrganizationSettings['commits']
type Choice = Pick<Commits, 'author' | 'signOff'>

const authors = [
  ['person', 'The person who asked'],
  ['app', 'The app, with the person as co-author'],
] as const satisfies readonly (readonly [Commits['author'], string])[]

/** Edits to whom the commits of Publications are attributed. */
export function CommitsForm({ commits }: { commits: Commits }) {
  const [chosen, setChosen] = useState<Partial<Choice>>({})
  const { author, signOff } = { ...commits, ...chosen }
  const dirty = author !== commits.author || signOff !== commits.signOff
  const save = useMutation({
    mutationFn: () => saveOwn({ commits: { author, signOff } }),
    onSuccess: saved => {
      queryClient.setQueryData(settingsQuery.queryKey, saved)
      setChosen({})
    },
  })
  const allowed = useOrganizationCan()('changeCommits')
  const verdict = allowed.allowed && !dirty ? ({ allowed: false, reason: 'Nothing has changed.' } as const) : allowed
  const { committer, publicKey } = commits
  return (
    <Part
      title="Commits"
      about="What Sessions publish carries the name and the email of the account that asks, unless you choose the app. Where a host makes a commit itself, as GitHub does for a merge, it decides."
    >
      <form
        aria-label="Commits"
        className="flex flex-col gap-4 rounded-xl border border-line p-4"
        onSubmit={event => {
          event.preventDefault()
          if (verdict.allowed) save.mutate()
        }}
      >
        <Field label="Author" hint="If nobody asked, as for an integration, it is the app.">
          {attributes => (
            <Select
              {...attributes}
              value={author}
              onChange={({ target }) => setChosen(before => ({ ...before, author: target.value as Commits['author'] }))}
            >
              {authors.map(([value, name]) => (
                <option key={value} value={value}>
                  {name}
                </option>
              ))}
            </Select>
          )}
        </Field>
        <TickBox
          checked={signOff}
          onChange={({ target }) => setChosen(before => ({ ...before, signOff: target.checked }))}
          means="Adds a line Signed-off-by with the author. Ask for it only if your people agree that publishing is their sign-off."
        >
          Sign off
        </TickBox>
        <p className="text-xs text-ink-3">
          The committer is{' '}
          <span className="font-mono break-all">
            {committer.name} &lt;{committer.email}&gt;
          </span>
          {publicKey === null ? '. The deployment has no key, so commits are not signed.' : '. Commits are signed by:'}
        </p>
        {publicKey !== null && (
          <pre className="rounded-lg border border-line bg-code px-3 py-2 font-mono text-xs break-all whitespace-pre-wrap">
            {publicKey}
          </pre>
        )}
        <InlineProblem error={save.error} />
        <div className="flex items-center gap-3">
          <Button type="submit" look="primary" busy={save.isPending} verdict={verdict} hint="above">
            Save
          </Button>
          <p role="status" className="text-xs text-ink-3">
            {save.isSuccess && !dirty ? 'Saved.' : ''}
          </p>
        </div>
      </form>
    </Part>
  )
}
