import type { OrganizationSettings } from '@berth/contract'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { queryClient } from '../../api/queries.ts'
import { Button } from '../../ui/button.tsx'
import { Field, Select } from '../../ui/field.tsx'
import { InlineProblem } from '../../ui/states.tsx'
import { TickBox } from '../../ui/tick-box.tsx'
import { Part } from '../limits/limits-page.tsx'
import { saveOwn, settingsQuery } from '../limits/queries.ts'
import { useOrganizationCan } from '../organization-can.ts'

type Commits = OrganizationSettings['commits']
type Choice = Pick<Commits, 'author' | 'signOff' | 'signer'>

const authors = [
  ['person', 'The person who asked'],
  ['app', 'The app, with the person as co-author'],
] as const satisfies readonly (readonly [Commits['author'], string])[]

const signers = [
  ['deployment', 'The deployment, by its key'],
  ['host', 'GitHub, which makes the commit as the app'],
] as const satisfies readonly (readonly [Commits['signer'], string])[]

/** Edits to whom the commits of Publications are attributed, and who signs them. */
export function CommitsForm({ commits }: { commits: Commits }) {
  const [chosen, setChosen] = useState<Partial<Choice>>({})
  const { author, signOff, signer } = { ...commits, ...chosen }
  const dirty = author !== commits.author || signOff !== commits.signOff || signer !== commits.signer
  const byHost = signer === 'host'
  const save = useMutation({
    mutationFn: () => saveOwn({ commits: { author, signOff, signer } }),
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
        {(commits.hostSigns || byHost) && (
          <Field
            label="Signed by"
            hint="Choose GitHub if a rule asks for verified signatures. Repositories of other hosts are not published to then, and neither is the first commit of a repository."
          >
            {attributes => (
              <Select
                {...attributes}
                value={signer}
                onChange={({ target }) =>
                  setChosen(before => ({ ...before, signer: target.value as Commits['signer'] }))
                }
              >
                {signers.map(([value, name]) => (
                  <option key={value} value={value}>
                    {name}
                  </option>
                ))}
              </Select>
            )}
          </Field>
        )}
        <Field
          label="Author"
          hint={
            byHost
              ? 'GitHub names the app. The person who asked is a co-author.'
              : 'If nobody asked, as for an integration, it is the app.'
          }
        >
          {attributes => (
            <Select
              {...attributes}
              disabled={byHost}
              value={byHost ? 'app' : author}
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
        {byHost ? (
          <p className="text-xs text-ink-3">GitHub is the committer, and signs by its own key.</p>
        ) : (
          <p className="text-xs text-ink-3">
            The committer is{' '}
            <span className="font-mono break-all">
              {committer.name} &lt;{committer.email}&gt;
            </span>
            {publicKey === null
              ? '. The deployment has no key, so commits are not signed.'
              : '. Commits are signed by:'}
          </p>
        )}
        {publicKey !== null && !byHost && (
          <pre className="rounded-lg border border-line bg-code px-3 py-2 font-mono text-xs break-all whitespace-pre-wrap">
            {publicKey}
          </pre>
        )}
        <InlineProblem error={save.error} />
        <div className="flex items-center gap-3">
          <Button type="submit" variant="primary" busy={save.isPending} verdict={verdict} hint="above">
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
