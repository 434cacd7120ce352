import type { OrganizationSettings } from '@berth/contract'
import { useState } from 'react'
import { Field, Select } from '../../ui/field.tsx'
import { TickBox } from '../../ui/tick-box.tsx'
import { Part } from '../limits/limits-page.tsx'
import { saveOwn } from '../limits/queries.ts'
import { SettingsForm } from '../settings-form.tsx'

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
  const { committer, publicKey } = commits
  return (
    <Part
      title="Commits"
      about="What Sessions publish carries the name and the email of the account that asks, unless you choose the app. Where a host makes a commit itself, as GitHub does for a merge, it decides."
    >
      <SettingsForm
        label="Commits"
        action="changeCommits"
        dirty={dirty}
        send={() => saveOwn({ commits: { author, signOff, signer } })}
        onSaved={() => setChosen({})}
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
      </SettingsForm>
    </Part>
  )
}
