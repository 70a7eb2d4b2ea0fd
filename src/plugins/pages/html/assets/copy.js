/** Adds a button that copies the message. Where the browser forbids it, the message is selected, to be copied by hand. */
const message = document.querySelector('pre[data-copy]');
if (message !== null && navigator.clipboard !== undefined) {
  const button = document.createElement('button');
  const said = document.createElement('span');
  button.type = 'button';
  button.textContent = message.dataset.copy;
  button.className = 'button';
  said.setAttribute('aria-live', 'polite');
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(message.textContent);
      said.textContent = message.dataset.copied;
    } catch {
      getSelection().selectAllChildren(message);
      said.textContent = message.dataset.selected;
    }
  });
  message.after(button, ' ', said);
}
