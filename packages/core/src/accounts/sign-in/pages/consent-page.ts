import { html } from '../../pages/html.ts'
import type { Page } from '../../pages/layout.ts'
import type { MembershipToChoose } from '../sign-in-sql.ts'

/** The page that asks a person to go on as themselves, and in which organization. */
export const consentPage = (form: {
  readonly csrf: string
  readonly name: string
  readonly email: string
  readonly device: boolean
  /** Name of the client; null for a program of the service on the person's machine or device. */
  readonly client: string | null
  readonly lasting: boolean
  readonly memberships: readonly [MembershipToChoose, ...MembershipToChoose[]]
}): Page => {
  const [first, ...others] = form.memberships
  const where =
    others.length === 0
      ? html`<input type="hidden" name="membership" value="${first.id}">
<p>It acts in <strong>${first.organization}</strong>, and may do there what you may do.</p>`
      : html`<fieldset><legend>Where should it act?</legend>
${form.memberships.map(
  membership => html`<label class="choice"><input type="radio" name="membership" value="${membership.id}"${membership === first ? html` checked` : null} required><span>${membership.organization}<small>${membership.role === 'admin' ? 'Administrator' : 'Member'}</small></span></label>
`,
)}</fieldset>`
  return {
    title: `Continue as ${form.name}?`,
    content: html`<p>${form.client === null ? html`<strong>Berth</strong> ${form.device ? 'on your device' : 'on this machine'}` : html`<strong>${form.client}</strong>`} asks to act as <strong>${form.email}</strong>${form.lasting ? ', until you sign it out' : ''}.</p>
<form method="post">
<input type="hidden" name="csrf" value="${form.csrf}">
${where}
<div class="buttons">
<button type="submit" name="decision" value="continue">Continue as ${form.name}</button>
<button class="second" type="submit" name="decision" value="cancel">Cancel</button>
</div>
</form>
<p class="note">Cancel if you did not start this yourself.</p>`,
  }
}
