<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="de" sourcelanguage="en">
<context>
    <name>ActionRow</name>
    <message>
        <source>More actions</source>
        <translation>Weitere Befehle</translation>
    </message>
    <message>
        <source>Edit</source>
        <translation>Bearbeiten</translation>
    </message>
    <message>
        <source>Regenerate</source>
        <translation>Neu erzeugen</translation>
    </message>
    <message>
        <source>Fork</source>
        <translation>Abzweigen</translation>
    </message>
    <message>
        <source>Continue</source>
        <translation>Fortsetzen</translation>
    </message>
    <message>
        <source>Copy</source>
        <translation>Kopieren</translation>
    </message>
    <message>
        <source>Answer</source>
        <translation>Beantworten</translation>
    </message>
    <message>
        <source>Try again</source>
        <translation>Noch einmal versuchen</translation>
    </message>
</context>
<context>
    <name>AlternativeRow</name>
    <message>
        <source>end here</source>
        <translation>hier enden</translation>
    </message>
    <message>
        <source>{token}, {percent}</source>
        <translation>{token}, {percent}</translation>
    </message>
    <message>
        <source>{row}, chosen</source>
        <translation>{row}, gewählt</translation>
    </message>
</context>
<context>
    <name>Announcements</name>
    <message>
        <source>Answer finished</source>
        <translation>Antwort fertig</translation>
    </message>
    <message>
        <source>Answer stopped</source>
        <translation>Antwort angehalten</translation>
    </message>
    <message>
        <source>Answer cut at the maximum of tokens</source>
        <translation>Antwort bei der Höchstzahl der Token abgeschnitten</translation>
    </message>
    <message>
        <source>The answer failed. {}</source>
        <translation>Die Antwort ist gescheitert. {}</translation>
    </message>
</context>
<context>
    <name>AnswerSummary</name>
    <message>
        <source>Stopped.</source>
        <translation>Angehalten.</translation>
    </message>
    <message>
        <source>Cut at the maximum of tokens. Continue goes on from here.</source>
        <translation>Bei der Höchstzahl der Token abgeschnitten. „Fortsetzen“ schreibt hier weiter.</translation>
    </message>
    <message>
        <source>(empty)</source>
        <translation>(leer)</translation>
    </message>
    <message>
        <source>This answer was interrupted. What was written is kept.</source>
        <translation>Diese Antwort wurde unterbrochen. Was geschrieben war, ist noch da.</translation>
    </message>
    <message>
        <source>No system prompt. Edit gives the model a role or rules, in a branch of its own.</source>
        <translation>Kein Systemprompt. „Bearbeiten“ gibt dem Modell eine Rolle oder Regeln, in einem eigenen Zweig.</translation>
    </message>
    <message>
        <source>{tokens} tokens, {kept} kept</source>
        <translation>{tokens} Token, {kept} behalten</translation>
    </message>
    <message>
        <source>{tokens} read</source>
        <translation>{tokens} gelesen</translation>
    </message>
    <message>
        <source>first word {seconds} s</source>
        <translation>erstes Wort nach {seconds} s</translation>
    </message>
    <message>
        <source>{tokens} tokens/s</source>
        <translation>{tokens} Token/s</translation>
    </message>
    <message>
        <source>{size} memory</source>
        <translation>{size} Speicher</translation>
    </message>
    <message>
        <source>ended before “{stop}”</source>
        <translation>endete vor „{stop}“</translation>
    </message>
    <message>
        <source>The model was given {tokens} tokens. {kept} of them it had read before, {read} it read now.</source>
        <translation>Das Modell bekam {tokens} Token. {kept} davon hatte es schon gelesen, {read} las es jetzt.</translation>
    </message>
    <message>
        <source>It wrote {tokens} tokens.</source>
        <translation>Es schrieb {tokens} Token.</translation>
    </message>
    <message>
        <source>The first word came after {seconds} s: {queue} s in the queue, {reading} s of reading.</source>
        <translation>Das erste Wort kam nach {seconds} s: {queue} s in der Warteschlange, {reading} s Lesen.</translation>
    </message>
    <message>
        <source>The model, what it has read, and its work took {size} of memory at most.</source>
        <translation>Das Modell, was es gelesen hat und seine Arbeit brauchten höchstens {size} Speicher.</translation>
    </message>
    <message>
        <source>It was drawn with the seed {seed}: with the same settings that gives the same answer.</source>
        <translation>Gezogen mit dem Startwert {seed}: mit denselben Einstellungen ergibt er dieselbe Antwort.</translation>
    </message>
    <message>
        <source>{accepted} of {drafted} guesses right</source>
        <translation>{accepted} von {drafted} Vermutungen richtig</translation>
    </message>
    <message>
        <source>{tokens} forced</source>
        <translation>{tokens} erzwungen</translation>
    </message>
    <message>
        <source>hooks {ms} ms</source>
        <translation>Hooks {ms} ms</translation>
    </message>
    <message>
        <source>{hook} switched off: too slow</source>
        <translation>{hook} abgeschaltet: zu langsam</translation>
    </message>
    <message>
        <source>The model did not see the oldest message: the conversation is longer than its context.</source>
        <translation>Das Modell hat die älteste Nachricht nicht gesehen: Das Gespräch ist länger als sein Kontext.</translation>
    </message>
    <message>
        <source>The model did not see the {messages} oldest messages: the conversation is longer than its context.</source>
        <translation>Das Modell hat die {messages} ältesten Nachrichten nicht gesehen: Das Gespräch ist länger als sein Kontext.</translation>
    </message>
</context>
<context>
    <name>AnswersPage</name>
    <message>
        <source>When a conversation is longer than the model&apos;s context</source>
        <translation>Wenn ein Gespräch länger ist als der Kontext des Modells</translation>
    </message>
    <message>
        <source>Say so and stop</source>
        <translation>Darauf hinweisen und anhalten</translation>
    </message>
    <message>
        <source>You shorten the message, or go on from an earlier one.</source>
        <translation>Sie kürzen die Nachricht oder machen bei einer früheren weiter.</translation>
    </message>
    <message>
        <source>Leave out the oldest messages</source>
        <translation>Die ältesten Nachrichten weglassen</translation>
    </message>
    <message>
        <source>The system prompt and your last question stay. Nothing is deleted: the model does not see what is left out, and the answer says how much that is.</source>
        <translation>Der Systemprompt und Ihre letzte Frage bleiben. Nichts wird gelöscht: Das Modell sieht nicht, was weggelassen ist, und die Antwort sagt, wie viel das ist.</translation>
    </message>
    <message>
        <source>How answers are drawn</source>
        <translation>Wie Antworten gezogen werden</translation>
    </message>
    <message>
        <source>Temperature, length, stop strings and the like belong to a conversation: they are set with the button under the field where you write, and can be kept there as a preset.</source>
        <translation>Temperatur, Länge, Stoppfolgen und Ähnliches gehören zu einem Gespräch: Sie werden mit dem Knopf unter dem Schreibfeld eingestellt und lassen sich dort als Vorgabe behalten.</translation>
    </message>
    <message>
        <source>A model reads only so much, its answer included; a word is one or two tokens.</source>
        <translation>Ein Modell liest nur so viel, seine Antwort eingerechnet; ein Wort sind ein oder zwei Token.</translation>
    </message>
    <message>
        <source>The model that is loaded reads {} tokens at most, its answer included; a word is one or two.</source>
        <translation>Das geladene Modell liest höchstens {} Token, seine Antwort eingerechnet; ein Wort sind ein oder zwei.</translation>
    </message>
</context>
<context>
    <name>AttachedFiles</name>
    <message>
        <source>Attach text files</source>
        <translation>Textdateien anhängen</translation>
    </message>
    <message>
        <source>Attach to the message</source>
        <translation>An die Nachricht anhängen</translation>
    </message>
    <message>
        <source>Import as conversations…</source>
        <translation>Als Gespräche importieren…</translation>
    </message>
    <message>
        <source>1 token</source>
        <translation>1 Token</translation>
    </message>
    <message>
        <source>{num} tokens</source>
        <translation>{num} Token</translation>
    </message>
</context>
<context>
    <name>BackupsWindow</name>
    <message>
        <source>Backups</source>
        <translation>Sicherungen</translation>
    </message>
    <message>
        <source>There is no backup yet. Bough makes one a day, soon after it starts, and keeps the last seven.</source>
        <translation>Es gibt noch keine Sicherung. Bough macht täglich eine, bald nach dem Start, und behält die letzten sieben.</translation>
    </message>
    <message>
        <source>Bough makes a backup a day and before each update of its own, and checks it. Restoring one puts it in the place of your conversations; these are kept among the backups.</source>
        <translation>Bough macht täglich und vor jeder eigenen Aktualisierung eine Sicherung und prüft sie. Wer eine zurückspielt, setzt sie an die Stelle der Gespräche; diese werden bei den Sicherungen behalten.</translation>
    </message>
    <message>
        <source>Show folder</source>
        <translation>Ordner zeigen</translation>
    </message>
    <message>
        <source>Restore…</source>
        <translation>Zurückspielen…</translation>
    </message>
    <message>
        <source>sound</source>
        <translation>unversehrt</translation>
    </message>
    <message numerus="yes">
        <source>%n conversation(s)</source>
        <translation>
            <numerusform>%n Gespräch</numerusform>
            <numerusform>%n Gespräche</numerusform>
        </translation>
    </message>
    <message>
        <source>damaged; it can&apos;t be put back</source>
        <translation>beschädigt; lässt sich nicht zurückspielen</translation>
    </message>
    <message>
        <source>being checked …</source>
        <translation>wird geprüft …</translation>
    </message>
    <message>
        <source>made before an update</source>
        <translation>vor einer Aktualisierung gemacht</translation>
    </message>
    <message>
        <source>kept when a backup was restored</source>
        <translation>behalten, als eine Sicherung zurückgespielt wurde</translation>
    </message>
    <message>
        <source>They are in {folder}. Nothing here can show folders.</source>
        <translation>Sie sind in {folder}. Kein Programm hier kann Ordner zeigen.</translation>
    </message>
    <message>
        <source>Restore a backup</source>
        <translation>Eine Sicherung zurückspielen</translation>
    </message>
    <message>
        <source>Restore the backup of {time}?</source>
        <translation>Die Sicherung von {time} zurückspielen?</translation>
    </message>
    <message>
        <source>Bough closes its windows and opens them again with what was there then. What is there now is kept among the backups. Answers that are under way are stopped.</source>
        <translation>Bough schließt seine Fenster und öffnet sie wieder mit dem, was damals da war. Was jetzt da ist, wird bei den Sicherungen behalten. Antworten, die gerade entstehen, werden angehalten.</translation>
    </message>
    <message>
        <source>Restore</source>
        <translation>Zurückspielen</translation>
    </message>
</context>
<context>
    <name>Banner</name>
    <message>
        <source>Close the notice</source>
        <translation>Mitteilung schließen</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>Schließen</translation>
    </message>
    <message>
        <source>Undo</source>
        <translation>Rückgängig</translation>
    </message>
    <message>
        <source>Open the guide</source>
        <translation>Den Guide öffnen</translation>
    </message>
    <message>
        <source>Open Settings</source>
        <translation>Einstellungen öffnen</translation>
    </message>
    <message>
        <source>Show in folder</source>
        <translation>Im Ordner zeigen</translation>
    </message>
    <message>
        <source>Show</source>
        <translation>Zeigen</translation>
    </message>
    <message>
        <source>Bring back</source>
        <translation>Zurückholen</translation>
    </message>
</context>
<context>
    <name>Chips</name>
    <message>
        <source>Remove {what}</source>
        <translation>{what} entfernen</translation>
    </message>
    <message>
        <source>Remove (Delete)</source>
        <translation>Entfernen (Entf)</translation>
    </message>
</context>
<context>
    <name>CodeFrame</name>
    <message>
        <source>Scroll the code sideways</source>
        <translation>Code seitwärts scrollen</translation>
    </message>
</context>
<context>
    <name>CompareCommands</name>
    <message>
        <source>The visible branch</source>
        <translation>Der sichtbare Zweig</translation>
    </message>
    <message>
        <source>The other branch</source>
        <translation>Der andere Zweig</translation>
    </message>
    <message>
        <source>Version {number} of {count}</source>
        <translation>Fassung {number} von {count}</translation>
    </message>
</context>
<context>
    <name>CompareWindow</name>
    <message>
        <source>Compare</source>
        <translation>Vergleichen</translation>
    </message>
    <message>
        <source>Left text</source>
        <translation>Linker Text</translation>
    </message>
    <message>
        <source>Right text</source>
        <translation>Rechter Text</translation>
    </message>
    <message>
        <source>Previous difference</source>
        <translation>Voriger Unterschied</translation>
    </message>
    <message>
        <source>Previous difference (Shift+F7)</source>
        <translation>Voriger Unterschied (Umschalt+F7)</translation>
    </message>
    <message>
        <source>Next difference</source>
        <translation>Nächster Unterschied</translation>
    </message>
    <message>
        <source>Next difference (F7)</source>
        <translation>Nächster Unterschied (F7)</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>Schließen</translation>
    </message>
    <message>
        <source>1 difference</source>
        <translation>1 Unterschied</translation>
    </message>
    <message numerus="yes">
        <source>{count} differences</source>
        <translation>
            <numerusform>{count} Unterschied</numerusform>
            <numerusform>{count} Unterschiede</numerusform>
        </translation>
    </message>
    <message>
        <source>Both are the same.</source>
        <translation>Beide sind gleich.</translation>
    </message>
    <message>
        <source>Difference {number} of {count}</source>
        <translation>Unterschied {number} von {count}</translation>
    </message>
    <message>
        <source>nothing</source>
        <translation>nichts</translation>
    </message>
    <message>
        <source>{where}: left {left}, right {right}</source>
        <translation>{where}: links {left}, rechts {right}</translation>
    </message>
</context>
<context>
    <name>Composer</name>
    <message>
        <source>Message</source>
        <translation>Nachricht</translation>
    </message>
    <message>
        <source>Attached files</source>
        <translation>Angehängte Dateien</translation>
    </message>
    <message>
        <source>Attach files</source>
        <translation>Dateien anhängen</translation>
    </message>
    <message>
        <source>System prompt</source>
        <translation>Systemprompt</translation>
    </message>
    <message>
        <source>Answer format</source>
        <translation>Antwortform</translation>
    </message>
    <message>
        <source>Sampling</source>
        <translation>Ziehung</translation>
    </message>
    <message>
        <source>Sampling: {name}</source>
        <translation>Ziehung: {name}</translation>
    </message>
    <message>
        <source>Stop</source>
        <translation>Anhalten</translation>
    </message>
    <message>
        <source>Send</source>
        <translation>Senden</translation>
    </message>
    <message>
        <source>Stop (Esc)</source>
        <translation>Anhalten (Esc)</translation>
    </message>
    <message>
        <source>Send (Enter; Shift+Enter breaks the line)</source>
        <translation>Senden (Eingabe; Umschalt+Eingabe bricht die Zeile um)</translation>
    </message>
</context>
<context>
    <name>ComposerCommands</name>
    <message>
        <source>System prompt: {text}</source>
        <translation>Systemprompt: {text}</translation>
    </message>
    <message>
        <source>System prompt: none</source>
        <translation>Systemprompt: keiner</translation>
    </message>
    <message>
        <source>This conversation began without a system prompt</source>
        <translation>Dieses Gespräch begann ohne Systemprompt</translation>
    </message>
    <message>
        <source>Answer format: {name}</source>
        <translation>Antwortform: {name}</translation>
    </message>
    <message>
        <source>This can&apos;t be used: {problem}</source>
        <translation>Das geht so nicht: {problem}</translation>
    </message>
    <message>
        <source>{name}: can&apos;t be used</source>
        <translation>{name}: geht so nicht</translation>
    </message>
    <message>
        <source>{name}, changed</source>
        <translation>{name}, geändert</translation>
    </message>
    <message>
        <source>Sampling, stop strings, seed, hooks: {name}</source>
        <translation>Ziehung, Stoppfolgen, Startwert, Hooks: {name}</translation>
    </message>
    <message>
        <source>{num} answers</source>
        <translation>{num} Antworten</translation>
    </message>
    <message>
        <source>1 stop</source>
        <translation>1 Stoppfolge</translation>
    </message>
    <message>
        <source>{num} stops</source>
        <translation>{num} Stoppfolgen</translation>
    </message>
    <message>
        <source>seed {seed}</source>
        <translation>Startwert {seed}</translation>
    </message>
    <message>
        <source>1 hook</source>
        <translation>1 Hook</translation>
    </message>
    <message>
        <source>{num} hooks</source>
        <translation>{num} Hooks</translation>
    </message>
    <message>
        <source>thinking</source>
        <translation>mit Nachdenken</translation>
    </message>
    <message>
        <source>no thinking</source>
        <translation>ohne Nachdenken</translation>
    </message>
</context>
<context>
    <name>ContextGauge</name>
    <message>
        <source>oldest left out</source>
        <translation>älteste weggelassen</translation>
    </message>
    <message>
        <source>too long</source>
        <translation>zu lang</translation>
    </message>
    <message>
        <source>nearly full</source>
        <translation>fast voll</translation>
    </message>
    <message>
        <source>Context: {share} used</source>
        <translation>Kontext: {share} belegt</translation>
    </message>
    <message>
        <source>With what is written here {used} of {limit} tokens: {kept} kept, {read} to read</source>
        <translation>Mit dem, was hier steht, {used} von {limit} Token: {kept} behalten, {read} zu lesen</translation>
    </message>
    <message>
        <source>, {free} free for the answer.</source>
        <translation>, {free} frei für die Antwort.</translation>
    </message>
    <message>
        <source>, {over} too many. </source>
        <translation>, {over} zu viele. </translation>
    </message>
    <message>
        <source>The oldest messages will be left out.</source>
        <translation>Die ältesten Nachrichten werden weggelassen.</translation>
    </message>
    <message>
        <source>The answer would fail: shorten the message, or go on from an earlier one.</source>
        <translation>Die Antwort würde scheitern: Kürzen Sie die Nachricht oder machen Sie bei einer früheren weiter.</translation>
    </message>
</context>
<context>
    <name>Controller</name>
    <message>
        <source>{name} (fork)</source>
        <translation>{name} (Abzweigung)</translation>
    </message>
</context>
<context>
    <name>ConversationCommands</name>
    <message>
        <source>Open in a new window</source>
        <translation>In neuem Fenster öffnen</translation>
    </message>
    <message>
        <source>Rename</source>
        <translation>Umbenennen</translation>
    </message>
    <message>
        <source>Pinned</source>
        <translation>Angeheftet</translation>
    </message>
    <message>
        <source>Move to folder</source>
        <translation>In Ordner legen</translation>
    </message>
    <message>
        <source>Archived</source>
        <translation>Archiviert</translation>
    </message>
    <message>
        <source>Delete</source>
        <translation>Löschen</translation>
    </message>
    <message>
        <source>Rename folder…</source>
        <translation>Ordner umbenennen…</translation>
    </message>
    <message>
        <source>Take all out of it</source>
        <translation>Alles herausnehmen</translation>
    </message>
    <message>
        <source>New folder…</source>
        <translation>Neuer Ordner…</translation>
    </message>
    <message>
        <source>No folder</source>
        <translation>Kein Ordner</translation>
    </message>
    <message>
        <source>Everything is in {}. Nothing here can show folders.</source>
        <translation>Alles ist in {}. Kein Programm hier kann Ordner zeigen.</translation>
    </message>
</context>
<context>
    <name>ConversationList</name>
    <message>
        <source>Conversations</source>
        <translation>Gespräche</translation>
    </message>
</context>
<context>
    <name>ConversationModel</name>
    <message>
        <source>{name} · answering</source>
        <translation>{name} · antwortet</translation>
    </message>
    <message>
        <source>Conversations</source>
        <translation>Gespräche</translation>
    </message>
</context>
<context>
    <name>CopyButton</name>
    <message>
        <source>Copy code in {language}</source>
        <translation>Code in {language} kopieren</translation>
    </message>
    <message>
        <source>Copy code</source>
        <translation>Code kopieren</translation>
    </message>
    <message>
        <source>Copy this code</source>
        <translation>Diesen Code kopieren</translation>
    </message>
    <message>
        <source>Copied</source>
        <translation>Kopiert</translation>
    </message>
    <message>
        <source>Copy</source>
        <translation>Kopieren</translation>
    </message>
</context>
<context>
    <name>CostWords</name>
    <message>
        <source>Its cost is not known yet</source>
        <translation>Was es kostet, ist noch nicht bekannt</translation>
    </message>
    <message>
        <source>{count} kept</source>
        <translation>{count} behalten</translation>
    </message>
    <message>
        <source>nothing to read</source>
        <translation>nichts zu lesen</translation>
    </message>
    <message>
        <source>would read {count} tokens</source>
        <translation>würde {count} Token lesen</translation>
    </message>
    <message>
        <source>kept in memory</source>
        <translation>im Speicher behalten</translation>
    </message>
    <message>
        <source>kept on disk</source>
        <translation>auf der Platte behalten</translation>
    </message>
    <message>
        <source>not kept</source>
        <translation>nicht behalten</translation>
    </message>
    <message>
        <source>at once</source>
        <translation>sofort</translation>
    </message>
    <message>
        <source>about {seconds} s</source>
        <translation>etwa {seconds} s</translation>
    </message>
    <message>
        <source>about {minutes} min</source>
        <translation>etwa {minutes} min</translation>
    </message>
</context>
<context>
    <name>DataPage</name>
    <message>
        <source>In and out</source>
        <translation>Importieren und exportieren</translation>
    </message>
    <message>
        <source>Conversations come in from other programs, and go out as files that others can read.</source>
        <translation>Gespräche kommen aus anderen Programmen herein und gehen als Dateien hinaus, die andere lesen können.</translation>
    </message>
    <message>
        <source>Backups and trash</source>
        <translation>Sicherungen und Papierkorb</translation>
    </message>
    <message>
        <source>A backup is made once a day. What you delete lies in the trash for thirty days.</source>
        <translation>Täglich wird eine Sicherung gemacht. Was Sie löschen, liegt dreißig Tage im Papierkorb.</translation>
    </message>
    <message>
        <source>Where it is kept</source>
        <translation>Wo es liegt</translation>
    </message>
    <message>
        <source>Everything you write stays on this computer, in one folder.</source>
        <translation>Alles, was Sie schreiben, bleibt auf diesem Rechner, in einem Ordner.</translation>
    </message>
</context>
<context>
    <name>DialogCommands</name>
    <message>
        <source>There is nothing to export yet.</source>
        <translation>Noch gibt es nichts zu exportieren.</translation>
    </message>
    <message numerus="yes">
        <source>%n message(s)</source>
        <translation>
            <numerusform>%n Nachricht</numerusform>
            <numerusform>%n Nachrichten</numerusform>
        </translation>
    </message>
    <message>
        <source>This branch</source>
        <translation>Dieser Zweig</translation>
    </message>
    <message>
        <source>The selected messages</source>
        <translation>Die ausgewählten Nachrichten</translation>
    </message>
    <message>
        <source>This message</source>
        <translation>Diese Nachricht</translation>
    </message>
    <message>
        <source>The whole tree</source>
        <translation>Der ganze Baum</translation>
    </message>
    <message>
        <source>Every branch</source>
        <translation>Jeder Zweig</translation>
    </message>
    <message>
        <source>This folder</source>
        <translation>Dieser Ordner</translation>
    </message>
    <message numerus="yes">
        <source>%n conversation(s) in “{folder}”</source>
        <translation>
            <numerusform>%n Gespräch in „{folder}“</numerusform>
            <numerusform>%n Gespräche in „{folder}“</numerusform>
        </translation>
    </message>
    <message>
        <source>Everything</source>
        <translation>Alles</translation>
    </message>
    <message numerus="yes">
        <source>%n conversation(s), with every branch</source>
        <translation>
            <numerusform>%n Gespräch, mit jedem Zweig</numerusform>
            <numerusform>%n Gespräche, mit jedem Zweig</numerusform>
        </translation>
    </message>
    <message>
        <source>Conversations</source>
        <translation>Gespräche</translation>
    </message>
    <message>
        <source>{num} files are in {path}.</source>
        <translation>{num} Dateien sind in {path}.</translation>
    </message>
    <message>
        <source>{path} is written.</source>
        <translation>{path} ist geschrieben.</translation>
    </message>
    <message>
        <source>Import</source>
        <translation>Importieren</translation>
    </message>
    <message>
        <source>Conversations ({})</source>
        <translation>Gespräche ({})</translation>
    </message>
    <message>
        <source>{conversations} with {messages} imported.</source>
        <translation>{conversations} mit {messages} importiert.</translation>
    </message>
    <message numerus="yes">
        <source>%n conversation(s)</source>
        <translation>
            <numerusform>%n Gespräch</numerusform>
            <numerusform>%n Gespräche</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n could not be imported.</source>
        <translation>
            <numerusform>%n ließ sich nicht importieren.</numerusform>
            <numerusform>%n ließen sich nicht importieren.</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>Dialogs</name>
    <message>
        <source>Rename conversation</source>
        <translation>Gespräch umbenennen</translation>
    </message>
    <message>
        <source>Name</source>
        <translation>Name</translation>
    </message>
    <message>
        <source>Name branch</source>
        <translation>Zweig benennen</translation>
    </message>
    <message>
        <source>Name; empty: none</source>
        <translation>Name; leer: keiner</translation>
    </message>
    <message>
        <source>Folder</source>
        <translation>Ordner</translation>
    </message>
    <message>
        <source>Name; empty: no folder</source>
        <translation>Name; leer: kein Ordner</translation>
    </message>
    <message>
        <source>Open a model&apos;s folder</source>
        <translation>Den Ordner eines Modells öffnen</translation>
    </message>
    <message>
        <source>Choose a draft model: a smaller one of the same family</source>
        <translation>Entwurfsmodell wählen: ein kleineres derselben Familie</translation>
    </message>
    <message>
        <source>Empty trash</source>
        <translation>Papierkorb leeren</translation>
    </message>
    <message>
        <source>Delete for good what lies in the trash?</source>
        <translation>Endgültig löschen, was im Papierkorb liegt?</translation>
    </message>
    <message>
        <source>Its text goes from your conversations, from their backups and from what models have read. What another conversation shares stays. Models read again what they need.</source>
        <translation>Der Text verschwindet aus Ihren Gesprächen, aus deren Sicherungen und aus dem, was Modelle gelesen haben. Was ein anderes Gespräch teilt, bleibt. Modelle lesen wieder, was sie brauchen.</translation>
    </message>
    <message>
        <source>Delete for good</source>
        <translation>Endgültig löschen</translation>
    </message>
    <message>
        <source>About Bough</source>
        <translation>Über Bough</translation>
    </message>
    <message>
        <source>Bough is a chat program for local models in which a conversation is a tree.</source>
        <translation>Bough ist ein Chatprogramm für lokale Modelle, in dem ein Gespräch ein Baum ist.</translation>
    </message>
    <message>
        <source>Free software under the MIT licence. Nothing you write leaves this computer.</source>
        <translation>Freie Software unter der MIT-Lizenz. Nichts, was Sie schreiben, verlässt diesen Rechner.</translation>
    </message>
</context>
<context>
    <name>DockCommands</name>
    <message>
        <source>Go there</source>
        <translation>Dorthin gehen</translation>
    </message>
    <message>
        <source>Enter</source>
        <translation>Eingabe</translation>
    </message>
    <message>
        <source>Compare with the visible branch</source>
        <translation>Mit dem sichtbaren Zweig vergleichen</translation>
    </message>
</context>
<context>
    <name>DraftModelCard</name>
    <message>
        <source>Draft model</source>
        <translation>Entwurfsmodell</translation>
    </message>
    <message>
        <source>Choose folder…</source>
        <translation>Ordner wählen…</translation>
    </message>
    <message>
        <source>Choose the folder of a draft model</source>
        <translation>Den Ordner eines Entwurfsmodells wählen</translation>
    </message>
    <message>
        <source>A smaller model of the same family that guesses ahead. Where it is right, answers come faster; they stay the same. It takes memory of its own.</source>
        <translation>Ein kleineres Modell derselben Familie, das vorausrät. Wo es richtig liegt, kommen Antworten schneller; sie bleiben dieselben. Es braucht eigenen Speicher.</translation>
    </message>
    <message>
        <source>The guide is fast enough without one.</source>
        <translation>Der Guide ist ohne eines schnell genug.</translation>
    </message>
    <message>
        <source>For {model}.</source>
        <translation>Für {model}.</translation>
    </message>
    <message>
        <source>For {model}, which has none now.</source>
        <translation>Für {model}, das jetzt keines hat.</translation>
    </message>
    <message>
        <source>Loading {model} …</source>
        <translation>{model} wird geladen …</translation>
    </message>
    <message>
        <source>No model is loaded.</source>
        <translation>Kein Modell ist geladen.</translation>
    </message>
    <message>
        <source>None</source>
        <translation>Keines</translation>
    </message>
</context>
<context>
    <name>DraftModels</name>
    <message>
        <source>not there any more</source>
        <translation>nicht mehr da</translation>
    </message>
    <message>
        <source>other tokens than {model}</source>
        <translation>andere Token als {model}</translation>
    </message>
</context>
<context>
    <name>DropPage</name>
    <message numerus="yes">
        <source>Drop to import %n file(s)</source>
        <translation>
            <numerusform>Hier ablegen, um %n Datei zu importieren</numerusform>
            <numerusform>Hier ablegen, um %n Dateien zu importieren</numerusform>
        </translation>
    </message>
    <message>
        <source>First you see what is in there. Nothing is imported before you say so.</source>
        <translation>Zuerst sehen Sie, was darin ist. Nichts wird importiert, bevor Sie es sagen.</translation>
    </message>
    <message>
        <source>Left out, for Bough can&apos;t read that: {names}</source>
        <translation>Weggelassen, denn das kann Bough nicht lesen: {names}</translation>
    </message>
    <message>
        <source>This can&apos;t be imported</source>
        <translation>Das lässt sich nicht importieren</translation>
    </message>
    <message>
        <source>{names}: Bough imports {endings}, and folders of them.</source>
        <translation>{names}: Bough importiert {endings} und Ordner davon.</translation>
    </message>
</context>
<context>
    <name>Export</name>
    <message>
        <source>Markdown</source>
        <translation>Markdown</translation>
    </message>
    <message>
        <source>Web page</source>
        <translation>Webseite</translation>
    </message>
    <message>
        <source>PDF</source>
        <translation>PDF</translation>
    </message>
    <message>
        <source>Plain text</source>
        <translation>Reiner Text</translation>
    </message>
    <message>
        <source>OpenDocument</source>
        <translation>OpenDocument</translation>
    </message>
    <message>
        <source>OpenAI JSON Lines</source>
        <translation>OpenAI JSON Lines</translation>
    </message>
    <message>
        <source>ShareGPT JSON Lines</source>
        <translation>ShareGPT JSON Lines</translation>
    </message>
    <message>
        <source>Preference pairs</source>
        <translation>Präferenzpaare</translation>
    </message>
    <message>
        <source>Bough</source>
        <translation>Bough</translation>
    </message>
    <message>
        <source>Text with headings; Bough reads it back.</source>
        <translation>Text mit Überschriften; Bough liest ihn wieder ein.</translation>
    </message>
    <message>
        <source>One file that needs nothing else; branches fold.</source>
        <translation>Eine Datei, die sonst nichts braucht; Zweige klappen ein.</translation>
    </message>
    <message>
        <source>Pages with numbers, and an outline of the messages.</source>
        <translation>Seiten mit Nummern und einer Gliederung der Nachrichten.</translation>
    </message>
    <message>
        <source>Nothing is marked up, nothing is changed.</source>
        <translation>Nichts ist ausgezeichnet, nichts ist geändert.</translation>
    </message>
    <message>
        <source>For word processors; formulas are pictures.</source>
        <translation>Für Textverarbeitungen; Formeln sind Bilder.</translation>
    </message>
    <message>
        <source>For fine-tuning: one chat a line, one for each branch.</source>
        <translation>Zum Feinabstimmen: ein Chat je Zeile, einer für jeden Zweig.</translation>
    </message>
    <message>
        <source>For fine-tuning: the form that many tools read.</source>
        <translation>Zum Feinabstimmen: die Form, die viele Werkzeuge lesen.</translation>
    </message>
    <message>
        <source>For fine-tuning: the answer shown, and each one beside it.</source>
        <translation>Zum Feinabstimmen: die gezeigte Antwort, und jede andere daneben.</translation>
    </message>
    <message>
        <source>Everything, nothing lost: all that Bough knows of it.</source>
        <translation>Alles, ohne Verlust: was immer Bough davon weiß.</translation>
    </message>
</context>
<context>
    <name>ExportPreview</name>
    <message>
        <source>Preview: how the file begins</source>
        <translation>Vorschau: wie die Datei beginnt</translation>
    </message>
    <message>
        <source>Preview: the first page</source>
        <translation>Vorschau: die erste Seite</translation>
    </message>
    <message>
        <source>All of it.</source>
        <translation>Alles davon.</translation>
    </message>
    <message>
        <source>The first page.</source>
        <translation>Die erste Seite.</translation>
    </message>
    <message>
        <source>Nothing of this would be in the file.</source>
        <translation>Nichts davon stünde in der Datei.</translation>
    </message>
    <message>
        <source>The beginning.</source>
        <translation>Der Anfang.</translation>
    </message>
</context>
<context>
    <name>ExportWindow</name>
    <message>
        <source>Export</source>
        <translation>Exportieren</translation>
    </message>
    <message>
        <source>What</source>
        <translation>Was</translation>
    </message>
    <message>
        <source>Format</source>
        <translation>Format</translation>
    </message>
    <message>
        <source>Reasoning</source>
        <translation>Gedanken</translation>
    </message>
    <message>
        <source>What models thought before they answered</source>
        <translation>Was Modelle dachten, bevor sie antworteten</translation>
    </message>
    <message>
        <source>System prompts</source>
        <translation>Systemprompts</translation>
    </message>
    <message>
        <source>Statistics of each answer</source>
        <translation>Statistik jeder Antwort</translation>
    </message>
    <message>
        <source>Colours of the page</source>
        <translation>Farben der Seite</translation>
    </message>
    <message>
        <source>Colours as the reader&apos;s system</source>
        <translation>Farben wie das System der Lesenden</translation>
    </message>
    <message>
        <source>Light</source>
        <translation>Hell</translation>
    </message>
    <message>
        <source>Dark</source>
        <translation>Dunkel</translation>
    </message>
    <message>
        <source>Name of the file</source>
        <translation>Name der Datei</translation>
    </message>
    <message>
        <source>Choose folder…</source>
        <translation>Ordner wählen…</translation>
    </message>
    <message>
        <source>With</source>
        <translation>Mit</translation>
    </message>
    <message>
        <source>Where to</source>
        <translation>Wohin</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
    <message>
        <source>Esc</source>
        <translation>Esc</translation>
    </message>
    <message>
        <source>a folder</source>
        <translation>ein Ordner</translation>
    </message>
    <message>
        <source>in {folder}</source>
        <translation>in {folder}</translation>
    </message>
    <message>
        <source>That folder is there. The files are put beside what lies in it.</source>
        <translation>Den Ordner gibt es schon. Die Dateien kommen zu dem, was darin liegt.</translation>
    </message>
    <message>
        <source>A file of that name is there. It will be replaced.</source>
        <translation>Eine Datei dieses Namens gibt es schon. Sie wird ersetzt.</translation>
    </message>
    <message>
        <source>Export to</source>
        <translation>Exportieren nach</translation>
    </message>
    <message>
        <source>Exporting …</source>
        <translation>Wird exportiert …</translation>
    </message>
    <message>
        <source>{done} of {total} messages</source>
        <translation>{done} von {total} Nachrichten</translation>
    </message>
    <message>
        <source>{done} of {total} conversations</source>
        <translation>{done} von {total} Gesprächen</translation>
    </message>
    <message>
        <source>Cancelled. Nothing was written.</source>
        <translation>Abgebrochen. Nichts wurde geschrieben.</translation>
    </message>
</context>
<context>
    <name>FindBar</name>
    <message>
        <source>Find in conversation</source>
        <translation>Im Gespräch suchen</translation>
    </message>
    <message>
        <source>Previous hit</source>
        <translation>Voriger Treffer</translation>
    </message>
    <message>
        <source>Next hit</source>
        <translation>Nächster Treffer</translation>
    </message>
    <message>
        <source>Go to the next one on another branch</source>
        <translation>Zum nächsten auf einem anderen Zweig gehen</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>Schließen</translation>
    </message>
    <message>
        <source>{number} of {num}</source>
        <translation>{number} von {num}</translation>
    </message>
    <message>
        <source>Not found here</source>
        <translation>Hier nicht gefunden</translation>
    </message>
    <message>
        <source>Not found</source>
        <translation>Nicht gefunden</translation>
    </message>
    <message numerus="yes">
        <source>%n on other branches</source>
        <translation>
            <numerusform>%n auf anderen Zweigen</numerusform>
            <numerusform>%n auf anderen Zweigen</numerusform>
        </translation>
    </message>
    <message>
        <source>1 on another branch</source>
        <translation>1 auf einem anderen Zweig</translation>
    </message>
</context>
<context>
    <name>Folded</name>
    <message numerus="yes">
        <source>… and %n more</source>
        <translation>
            <numerusform>… und %n weiteres</numerusform>
            <numerusform>… und %n weitere</numerusform>
        </translation>
    </message>
    <message>
        <source>Fold it away</source>
        <translation>Einklappen</translation>
    </message>
    <message>
        <source>Show what that is</source>
        <translation>Zeigen, was das ist</translation>
    </message>
</context>
<context>
    <name>FormatPopover</name>
    <message>
        <source>Answer format</source>
        <translation>Antwortform</translation>
    </message>
    <message>
        <source>Examples</source>
        <translation>Beispiele</translation>
    </message>
    <message>
        <source>Begin with one of these</source>
        <translation>Mit einem davon anfangen</translation>
    </message>
    <message>
        <source>Answers are free until something stands here.</source>
        <translation>Antworten sind frei, bis hier etwas steht.</translation>
    </message>
    <message>
        <source>Looking at it …</source>
        <translation>Wird geprüft …</translation>
    </message>
    <message>
        <source>✓ This can be used.</source>
        <translation>✓ Das geht so.</translation>
    </message>
    <message>
        <source>Free</source>
        <translation>Frei</translation>
    </message>
    <message>
        <source>JSON schema</source>
        <translation>JSON</translation>
    </message>
    <message>
        <source>Regex</source>
        <translation>Regex</translation>
    </message>
    <message>
        <source>Choices</source>
        <translation>Auswahl</translation>
    </message>
    <message>
        <source>Grammar</source>
        <translation>Grammatik</translation>
    </message>
    <message>
        <source>The model answers as it likes. Any other form is kept to, token by token, whatever the model likes.</source>
        <translation>Das Modell antwortet, wie es will. Jede andere Form wird Token für Token eingehalten, was das Modell auch will.</translation>
    </message>
    <message>
        <source>The answer is JSON that this schema allows.</source>
        <translation>Die Antwort ist JSON, das dieses Schema erlaubt.</translation>
    </message>
    <message>
        <source>The whole answer matches this regular expression.</source>
        <translation>Die ganze Antwort passt auf diesen regulären Ausdruck.</translation>
    </message>
    <message>
        <source>The answer is one of these lines, to the letter.</source>
        <translation>Die Antwort ist eine dieser Zeilen, auf den Buchstaben genau.</translation>
    </message>
    <message>
        <source>The answer is what this grammar makes of “start”, written as Lark has it.</source>
        <translation>Die Antwort ist, was diese Grammatik aus „start“ macht, geschrieben wie bei Lark.</translation>
    </message>
    <message>
        <source>A person</source>
        <translation>Eine Person</translation>
    </message>
    <message>
        <source>A date</source>
        <translation>Ein Datum</translation>
    </message>
    <message>
        <source>Yes or no</source>
        <translation>Ja oder nein</translation>
    </message>
    <message>
        <source>A sum</source>
        <translation>Eine Rechnung</translation>
    </message>
    <message>
        <source>A short list</source>
        <translation>Eine kurze Liste</translation>
    </message>
    <message>
        <source>A number from 1 to 10</source>
        <translation>Eine Zahl von 1 bis 10</translation>
    </message>
    <message>
        <source>A mood</source>
        <translation>Eine Stimmung</translation>
    </message>
    <message>
        <source>Three lines</source>
        <translation>Drei Zeilen</translation>
    </message>
    <message>
        <source>Reasons and a verdict</source>
        <translation>Gründe und ein Urteil</translation>
    </message>
    <message>
        <source>Three capitals</source>
        <translation>Drei Hauptstädte</translation>
    </message>
</context>
<context>
    <name>GeneralPage</name>
    <message>
        <source>Language</source>
        <translation>Sprache</translation>
    </message>
    <message>
        <source>As the system says</source>
        <translation>Wie das System</translation>
    </message>
    <message>
        <source>Theme</source>
        <translation>Farben</translation>
    </message>
    <message>
        <source>Light</source>
        <translation>Hell</translation>
    </message>
    <message>
        <source>Dark</source>
        <translation>Dunkel</translation>
    </message>
    <message>
        <source>Size of text</source>
        <translation>Schriftgröße</translation>
    </message>
    <message>
        <source>Motion</source>
        <translation>Bewegung</translation>
    </message>
    <message>
        <source>Less</source>
        <translation>Weniger</translation>
    </message>
    <message>
        <source>Nothing glides; what changes is there at once.</source>
        <translation>Nichts gleitet; was sich ändert, ist sofort da.</translation>
    </message>
    <message>
        <source>Names of conversations</source>
        <translation>Namen der Gespräche</translation>
    </message>
    <message>
        <source>After the first exchange</source>
        <translation>Nach dem ersten Austausch</translation>
    </message>
    <message>
        <source>What the first question asks for; where it only greets, what the answer says.</source>
        <translation>Was die erste Frage will; wo sie nur grüßt, was die Antwort sagt.</translation>
    </message>
    <message>
        <source>As the first question begins</source>
        <translation>Wie die erste Frage beginnt</translation>
    </message>
</context>
<context>
    <name>Header</name>
    <message>
        <source>Show or hide the conversations</source>
        <translation>Gespräche zeigen oder verbergen</translation>
    </message>
    <message>
        <source>Sidebar (Ctrl+B)</source>
        <translation>Seitenleiste (Strg+B)</translation>
    </message>
    <message>
        <source>Show or hide the tree</source>
        <translation>Baum zeigen oder verbergen</translation>
    </message>
    <message>
        <source>Tree (Ctrl+T)</source>
        <translation>Baum (Strg+T)</translation>
    </message>
    <message>
        <source> · not loaded</source>
        <translation> · nicht geladen</translation>
    </message>
    <message>
        <source>Model: {}</source>
        <translation>Modell: {}</translation>
    </message>
    <message>
        <source> · {} · {} M parameters · context {} tokens</source>
        <translation> · {} · {} Mio. Parameter · Kontext {} Token</translation>
    </message>
    <message>
        <source> · {model} guesses ahead</source>
        <translation> · {model} rät voraus</translation>
    </message>
    <message>
        <source>Guide</source>
        <translation>Guide</translation>
    </message>
    <message>
        <source>starting</source>
        <translation>startet</translation>
    </message>
    <message>
        <source>building the model</source>
        <translation>baut das Modell auf</translation>
    </message>
    <message>
        <source>reading the weights</source>
        <translation>liest die Gewichte</translation>
    </message>
    <message>
        <source>warming up</source>
        <translation>läuft warm</translation>
    </message>
    <message>
        <source>draft model: {stage}</source>
        <translation>Entwurfsmodell: {stage}</translation>
    </message>
</context>
<context>
    <name>HookRows</name>
    <message>
        <source>Looking for hooks …</source>
        <translation>Hooks werden gesucht …</translation>
    </message>
    <message>
        <source>It is not in the folder of hooks any more. Switch it off.</source>
        <translation>Er ist nicht mehr im Ordner der Hooks. Schalten Sie ihn ab.</translation>
    </message>
    <message>
        <source>There are none.</source>
        <translation>Es gibt keine.</translation>
    </message>
    <message>
        <source>Ask {name} earlier</source>
        <translation>{name} früher fragen</translation>
    </message>
    <message>
        <source>Ask {name} later</source>
        <translation>{name} später fragen</translation>
    </message>
    <message>
        <source>needed</source>
        <translation>nötig</translation>
    </message>
</context>
<context>
    <name>Import</name>
    <message>
        <source>{files} and {count} more</source>
        <translation>{files} und {count} weitere</translation>
    </message>
</context>
<context>
    <name>ImportWindow</name>
    <message>
        <source>Import</source>
        <translation>Importieren</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
    <message>
        <source>Esc</source>
        <translation>Esc</translation>
    </message>
    <message>
        <source>Looking at what is in there …</source>
        <translation>Der Inhalt wird angesehen …</translation>
    </message>
    <message>
        <source>Nothing is imported yet.</source>
        <translation>Noch ist nichts importiert.</translation>
    </message>
    <message>
        <source>{conversations} with {messages} in {branches}</source>
        <translation>{conversations} mit {messages} in {branches}</translation>
    </message>
    <message numerus="yes">
        <source>%n conversation(s)</source>
        <translation>
            <numerusform>%n Gespräch</numerusform>
            <numerusform>%n Gespräche</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n message(s)</source>
        <translation>
            <numerusform>%n Nachricht</numerusform>
            <numerusform>%n Nachrichten</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n branch(es)</source>
        <translation>
            <numerusform>%n Zweig</numerusform>
            <numerusform>%n Zweigen</numerusform>
        </translation>
    </message>
    <message>
        <source>Nothing here can be imported</source>
        <translation>Hier lässt sich nichts importieren</translation>
    </message>
    <message>
        <source>Bough reads .bough files, exports of ChatGPT, Claude, Open WebUI, LibreChat, llama.cpp and LM Studio, JSON Lines of OpenAI and ShareGPT, and its own Markdown.</source>
        <translation>Bough liest .bough-Dateien, Exporte von ChatGPT, Claude, Open WebUI, LibreChat, llama.cpp und LM Studio, JSON Lines von OpenAI und ShareGPT und sein eigenes Markdown.</translation>
    </message>
    <message>
        <source>All of it is here already.</source>
        <translation>Alles davon ist schon hier.</translation>
    </message>
    <message numerus="yes">
        <source>%n can&apos;t be imported</source>
        <translation>
            <numerusform>%n lässt sich nicht importieren</numerusform>
            <numerusform>%n lassen sich nicht importieren</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n conversation(s) already here; left out</source>
        <translation>
            <numerusform>%n Gespräch ist schon hier; es wird weggelassen</numerusform>
            <numerusform>%n Gespräche sind schon hier; sie werden weggelassen</numerusform>
        </translation>
    </message>
    <message>
        <source>{name}, here “{there}”</source>
        <translation>{name}, hier „{there}“</translation>
    </message>
    <message>
        <source>What will not be as it was</source>
        <translation>Was nicht sein wird, wie es war</translation>
    </message>
    <message>
        <source>Importing …</source>
        <translation>Wird importiert …</translation>
    </message>
    <message>
        <source>{conversations} conversations, {messages} messages</source>
        <translation>{conversations} Gespräche, {messages} Nachrichten</translation>
    </message>
    <message>
        <source>That could not be read</source>
        <translation>Das ließ sich nicht lesen</translation>
    </message>
    <message>
        <source>Cancelled. What was begun was taken back.</source>
        <translation>Abgebrochen. Was begonnen war, wurde zurückgenommen.</translation>
    </message>
</context>
<context>
    <name>KeysPage</name>
    <message>
        <source>Actions and their keys</source>
        <translation>Befehle und ihre Tasten</translation>
    </message>
    <message>
        <source>Action</source>
        <translation>Befehl</translation>
    </message>
    <message>
        <source>Key</source>
        <translation>Taste</translation>
    </message>
    <message>
        <source>Key of the chosen action</source>
        <translation>Taste des gewählten Befehls</translation>
    </message>
    <message>
        <source>No key</source>
        <translation>Keine Taste</translation>
    </message>
    <message>
        <source>Its own key</source>
        <translation>Eigene Taste</translation>
    </message>
    <message>
        <source>All as they were</source>
        <translation>Alle wie zuvor</translation>
    </message>
    <message>
        <source>Letters alone work on the message that has the focus, also beside a key of yours.</source>
        <translation>Buchstaben allein wirken auf die Nachricht, die den Fokus hat, auch neben einer Taste von Ihnen.</translation>
    </message>
    <message>
        <source>Keys</source>
        <translation>Tasten</translation>
    </message>
    <message>
        <source>Choose an action, then press the key that it is to work by.</source>
        <translation>Wählen Sie einen Befehl, und drücken Sie dann die Taste, auf die er hören soll.</translation>
    </message>
    <message>
        <source>{} is needed where text is written. Choose another one.</source>
        <translation>{} wird gebraucht, wo geschrieben wird. Wählen Sie eine andere.</translation>
    </message>
    <message>
        <source>{} alone is typed into texts. Hold Ctrl or Alt with it.</source>
        <translation>{} allein wird in Texte getippt. Halten Sie Strg oder Alt dazu.</translation>
    </message>
    <message>
        <source>{} opens the menu “{}”. Choose another one.</source>
        <translation>{} öffnet das Menü „{}“. Wählen Sie eine andere.</translation>
    </message>
    <message>
        <source>{} is the key of “{}” already. Give that one another key first.</source>
        <translation>{} ist schon die Taste von „{}“. Geben Sie diesem erst eine andere.</translation>
    </message>
</context>
<context>
    <name>LinkPopover</name>
    <message>
        <source>Link</source>
        <translation>Link</translation>
    </message>
    <message>
        <source>Where the link leads</source>
        <translation>Wohin der Link führt</translation>
    </message>
    <message>
        <source>Copy</source>
        <translation>Kopieren</translation>
    </message>
    <message>
        <source>Open</source>
        <translation>Öffnen</translation>
    </message>
    <message>
        <source>Bough opens web and mail addresses alone. This is another one; it can be copied.</source>
        <translation>Bough öffnet nur Web- und Mailadressen. Dies ist eine andere; sie lässt sich kopieren.</translation>
    </message>
</context>
<context>
    <name>MainWindow</name>
    <message>
        <source>New conversation</source>
        <translation>Neues Gespräch</translation>
    </message>
    <message>
        <source>Ask the guide about Bough</source>
        <translation>Fragen Sie den Guide nach Bough (auf Englisch)</translation>
    </message>
    <message>
        <source>Ask anything</source>
        <translation>Fragen Sie, was Sie wollen</translation>
    </message>
</context>
<context>
    <name>MemoryPage</name>
    <message>
        <source>Memory for what models have read</source>
        <translation>Speicher für Gelesenes</translation>
    </message>
    <message>
        <source>What is kept on disk</source>
        <translation>Was auf der Platte bleibt</translation>
    </message>
    <message>
        <source>10 GiB for all models together, or a tenth of what is free where that is less.</source>
        <translation>10 GiB für alle Modelle zusammen, oder ein Zehntel des freien Platzes, wo das weniger ist.</translation>
    </message>
    <message>
        <source>Keep nothing on disk</source>
        <translation>Nichts auf der Platte behalten</translation>
    </message>
    <message>
        <source>What is there already stays until you empty it.</source>
        <translation>Was schon dort ist, bleibt, bis Sie es leeren.</translation>
    </message>
    <message>
        <source>Precision of what is kept</source>
        <translation>Genauigkeit des Behaltenen</translation>
    </message>
    <message>
        <source>As the model computes</source>
        <translation>Wie das Modell rechnet</translation>
    </message>
    <message>
        <source>Nothing is lost.</source>
        <translation>Nichts geht verloren.</translation>
    </message>
    <message>
        <source>8 bits</source>
        <translation>8 Bit</translation>
    </message>
    <message>
        <source>About half the memory. Answers hardly change.</source>
        <translation>Etwa die Hälfte des Speichers. Antworten ändern sich kaum.</translation>
    </message>
    <message>
        <source>4 bits</source>
        <translation>4 Bit</translation>
    </message>
    <message>
        <source>About a quarter. Answers can get worse, most of all in long conversations.</source>
        <translation>Etwa ein Viertel. Antworten können schlechter werden, vor allem in langen Gesprächen.</translation>
    </message>
    <message>
        <source>Empty</source>
        <translation>Leeren</translation>
    </message>
    <message>
        <source>Apply</source>
        <translation>Anwenden</translation>
    </message>
    <message>
        <source>Before a model answers, it reads the conversation. What it has read is kept, so that the next answer, or another branch, begins at once. More memory keeps more conversations at hand.</source>
        <translation>Bevor ein Modell antwortet, liest es das Gespräch. Was es gelesen hat, wird behalten, damit die nächste Antwort oder ein anderer Zweig sofort beginnt. Mehr Speicher hält mehr Gespräche bereit.</translation>
    </message>
    <message>
        <source>Show folder</source>
        <translation>Ordner zeigen</translation>
    </message>
    <message>
        <source>Removes what models have read from disk and from memory. Your conversations stay.</source>
        <translation>Entfernt, was Modelle gelesen haben, von der Platte und aus dem Speicher. Ihre Gespräche bleiben.</translation>
    </message>
    <message>
        <source>Keep it on disk, too</source>
        <translation>Auch auf der Platte behalten</translation>
    </message>
    <message>
        <source>What is on disk is still there when Bough is opened again, or another model was used meanwhile.</source>
        <translation>Was auf der Platte ist, ist noch da, wenn Bough wieder geöffnet wird oder inzwischen ein anderes Modell lief.</translation>
    </message>
    <message>
        <source>Fewer bits keep more in the same memory, less exactly. Not every model can do that.</source>
        <translation>Weniger Bit behalten mehr im gleichen Speicher, weniger genau. Nicht jedes Modell kann das.</translation>
    </message>
    <message>
        <source>The model will be loaded again, once no answer is under way; {}</source>
        <translation>Das Modell wird neu geladen, sobald keine Antwort mehr entsteht; {}</translation>
    </message>
    <message>
        <source>what it has read comes back from disk.</source>
        <translation>was es gelesen hat, kommt von der Platte zurück.</translation>
    </message>
    <message>
        <source>it reads again what it needs.</source>
        <translation>es liest wieder, was es braucht.</translation>
    </message>
    <message>
        <source>The model that is loaded can&apos;t do that: it keeps what it reads as it computes.</source>
        <translation>Das geladene Modell kann das nicht: Es behält Gelesenes, wie es rechnet.</translation>
    </message>
    <message>
        <source>{} for the model that is loaded.</source>
        <translation>{} für das geladene Modell.</translation>
    </message>
    <message>
        <source>As the model and this computer&apos;s memory allow.</source>
        <translation>Wie das Modell und der Speicher dieses Rechners es erlauben.</translation>
    </message>
    <message>
        <source>No model is loaded.</source>
        <translation>Kein Modell ist geladen.</translation>
    </message>
    <message>
        <source>Now: …</source>
        <translation>Jetzt: …</translation>
    </message>
    <message>
        <source>Now: {} ({} tokens).</source>
        <translation>Jetzt: {} ({} Token).</translation>
    </message>
    <message>
        <source>Now: nothing.</source>
        <translation>Jetzt: nichts.</translation>
    </message>
    <message>
        <source>Now: {}.</source>
        <translation>Jetzt: {}.</translation>
    </message>
    <message>
        <source>Now: {}, all of it of this model ({} tokens).</source>
        <translation>Jetzt: {}, alles davon von diesem Modell ({} Token).</translation>
    </message>
    <message>
        <source>Now: {}, {} of it of this model ({} tokens).</source>
        <translation>Jetzt: {}, davon {} von diesem Modell ({} Token).</translation>
    </message>
    <message>
        <source>It is kept in {}. Nothing here can show folders.</source>
        <translation>Es liegt in {}. Kein Programm hier kann Ordner zeigen.</translation>
    </message>
</context>
<context>
    <name>Menus</name>
    <message>
        <source>&amp;File</source>
        <translation>&amp;Datei</translation>
    </message>
    <message>
        <source>&amp;Edit</source>
        <translation>&amp;Bearbeiten</translation>
    </message>
    <message>
        <source>&amp;Message</source>
        <translation>&amp;Nachricht</translation>
    </message>
    <message>
        <source>&amp;Ask</source>
        <translation>&amp;Fragen</translation>
    </message>
    <message>
        <source>M&amp;odels</source>
        <translation>M&amp;odelle</translation>
    </message>
    <message>
        <source>Draft model</source>
        <translation>Entwurfsmodell</translation>
    </message>
    <message>
        <source>&amp;View</source>
        <translation>&amp;Ansicht</translation>
    </message>
    <message>
        <source>Theme</source>
        <translation>Farben</translation>
    </message>
    <message>
        <source>&amp;Help</source>
        <translation>&amp;Hilfe</translation>
    </message>
    <message>
        <source>New conversation</source>
        <translation>Neues Gespräch</translation>
    </message>
    <message>
        <source>New window</source>
        <translation>Neues Fenster</translation>
    </message>
    <message>
        <source>Rename conversation…</source>
        <translation>Gespräch umbenennen…</translation>
    </message>
    <message>
        <source>Pin conversation</source>
        <translation>Gespräch anheften</translation>
    </message>
    <message>
        <source>Move to folder…</source>
        <translation>In Ordner legen…</translation>
    </message>
    <message>
        <source>Archive conversation</source>
        <translation>Gespräch archivieren</translation>
    </message>
    <message>
        <source>Delete conversation</source>
        <translation>Gespräch löschen</translation>
    </message>
    <message>
        <source>Trash…</source>
        <translation>Papierkorb…</translation>
    </message>
    <message>
        <source>Empty trash…</source>
        <translation>Papierkorb leeren…</translation>
    </message>
    <message>
        <source>Import…</source>
        <translation>Importieren…</translation>
    </message>
    <message>
        <source>Export branch…</source>
        <translation>Zweig exportieren…</translation>
    </message>
    <message>
        <source>Export conversations…</source>
        <translation>Gespräche exportieren…</translation>
    </message>
    <message>
        <source>Backups…</source>
        <translation>Sicherungen…</translation>
    </message>
    <message>
        <source>Show data folder</source>
        <translation>Datenordner zeigen</translation>
    </message>
    <message>
        <source>Settings…</source>
        <translation>Einstellungen…</translation>
    </message>
    <message>
        <source>Close window</source>
        <translation>Fenster schließen</translation>
    </message>
    <message>
        <source>Quit</source>
        <translation>Beenden</translation>
    </message>
    <message>
        <source>Undo</source>
        <translation>Rückgängig</translation>
    </message>
    <message>
        <source>Redo</source>
        <translation>Wiederholen</translation>
    </message>
    <message>
        <source>Cut</source>
        <translation>Ausschneiden</translation>
    </message>
    <message>
        <source>Copy</source>
        <translation>Kopieren</translation>
    </message>
    <message>
        <source>Paste</source>
        <translation>Einfügen</translation>
    </message>
    <message>
        <source>Select all</source>
        <translation>Alles auswählen</translation>
    </message>
    <message>
        <source>Select message above</source>
        <translation>Nachricht darüber auswählen</translation>
    </message>
    <message>
        <source>Select message below</source>
        <translation>Nachricht darunter auswählen</translation>
    </message>
    <message>
        <source>Select all messages</source>
        <translation>Alle Nachrichten auswählen</translation>
    </message>
    <message>
        <source>Copy selected messages</source>
        <translation>Ausgewählte Nachrichten kopieren</translation>
    </message>
    <message>
        <source>Find in conversation</source>
        <translation>Im Gespräch suchen</translation>
    </message>
    <message>
        <source>Find next</source>
        <translation>Weitersuchen</translation>
    </message>
    <message>
        <source>Find previous</source>
        <translation>Rückwärts suchen</translation>
    </message>
    <message>
        <source>Search everything…</source>
        <translation>Alles durchsuchen…</translation>
    </message>
    <message>
        <source>Edit</source>
        <translation>Bearbeiten</translation>
    </message>
    <message>
        <source>Regenerate</source>
        <translation>Neu erzeugen</translation>
    </message>
    <message>
        <source>Regenerate with…</source>
        <translation>Neu erzeugen mit …</translation>
    </message>
    <message>
        <source>Fork</source>
        <translation>Abzweigen</translation>
    </message>
    <message>
        <source>Continue</source>
        <translation>Fortsetzen</translation>
    </message>
    <message>
        <source>Copy message</source>
        <translation>Nachricht kopieren</translation>
    </message>
    <message>
        <source>Star</source>
        <translation>Stern</translation>
    </message>
    <message>
        <source>Pin branch</source>
        <translation>Zweig anheften</translation>
    </message>
    <message>
        <source>Name branch…</source>
        <translation>Zweig benennen…</translation>
    </message>
    <message>
        <source>Prune</source>
        <translation>Stutzen</translation>
    </message>
    <message>
        <source>Versions side by side</source>
        <translation>Fassungen nebeneinander</translation>
    </message>
    <message>
        <source>Compare versions</source>
        <translation>Fassungen vergleichen</translation>
    </message>
    <message>
        <source>Keep only this version</source>
        <translation>Nur diese Fassung behalten</translation>
    </message>
    <message>
        <source>Go on from here</source>
        <translation>Von hier weiterschreiben</translation>
    </message>
    <message>
        <source>Text as it was written</source>
        <translation>Text, wie er geschrieben wurde</translation>
    </message>
    <message>
        <source>Show or fold the thought</source>
        <translation>Gedanken zeigen oder einklappen</translation>
    </message>
    <message>
        <source>Links…</source>
        <translation>Links…</translation>
    </message>
    <message>
        <source>Previous version</source>
        <translation>Vorige Fassung</translation>
    </message>
    <message>
        <source>Next version</source>
        <translation>Nächste Fassung</translation>
    </message>
    <message>
        <source>Previous message</source>
        <translation>Vorige Nachricht</translation>
    </message>
    <message>
        <source>Next message</source>
        <translation>Nächste Nachricht</translation>
    </message>
    <message>
        <source>Run again and compare</source>
        <translation>Noch einmal rechnen und vergleichen</translation>
    </message>
    <message>
        <source>Stop</source>
        <translation>Anhalten</translation>
    </message>
    <message>
        <source>Write a message</source>
        <translation>Eine Nachricht schreiben</translation>
    </message>
    <message>
        <source>Attach files…</source>
        <translation>Dateien anhängen…</translation>
    </message>
    <message>
        <source>System prompt…</source>
        <translation>Systemprompt…</translation>
    </message>
    <message>
        <source>Answer format…</source>
        <translation>Antwortform…</translation>
    </message>
    <message>
        <source>Sampling and hooks…</source>
        <translation>Ziehung und Hooks…</translation>
    </message>
    <message>
        <source>Open folder…</source>
        <translation>Ordner öffnen…</translation>
    </message>
    <message>
        <source>No draft model</source>
        <translation>Kein Entwurfsmodell</translation>
    </message>
    <message>
        <source>Choose draft model…</source>
        <translation>Entwurfsmodell wählen…</translation>
    </message>
    <message>
        <source>Command palette…</source>
        <translation>Befehlspalette…</translation>
    </message>
    <message>
        <source>Sidebar</source>
        <translation>Seitenleiste</translation>
    </message>
    <message>
        <source>Tokens</source>
        <translation>Token</translation>
    </message>
    <message>
        <source>Tree</source>
        <translation>Baum</translation>
    </message>
    <message>
        <source>Walk the tree</source>
        <translation>Durch den Baum gehen</translation>
    </message>
    <message>
        <source>System</source>
        <translation>System</translation>
    </message>
    <message>
        <source>Light</source>
        <translation>Hell</translation>
    </message>
    <message>
        <source>Dark</source>
        <translation>Dunkel</translation>
    </message>
    <message>
        <source>Larger text</source>
        <translation>Größere Schrift</translation>
    </message>
    <message>
        <source>Smaller text</source>
        <translation>Kleinere Schrift</translation>
    </message>
    <message>
        <source>Usual size of text</source>
        <translation>Übliche Schriftgröße</translation>
    </message>
    <message>
        <source>Keyboard shortcuts</source>
        <translation>Tastenkürzel</translation>
    </message>
    <message>
        <source>About Bough</source>
        <translation>Über Bough</translation>
    </message>
</context>
<context>
    <name>MessageCommands</name>
    <message numerus="yes">
        <source>Prune (%n message(s))</source>
        <translation>
            <numerusform>Stutzen (%n Nachricht)</numerusform>
            <numerusform>Stutzen (%n Nachrichten)</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>Keep only this version (prune %n message(s))</source>
        <translation>
            <numerusform>Nur diese Fassung behalten (%n Nachricht stutzen)</numerusform>
            <numerusform>Nur diese Fassung behalten (%n Nachrichten stutzen)</numerusform>
        </translation>
    </message>
    <message>
        <source>This message has one version only. Edit or Regenerate makes another.</source>
        <translation>Diese Nachricht hat nur eine Fassung. Bearbeiten oder Neu erzeugen macht eine weitere.</translation>
    </message>
</context>
<context>
    <name>MessageEditor</name>
    <message>
        <source>New version</source>
        <translation>Neue Fassung</translation>
    </message>
    <message>
        <source>The old version stays beside it.</source>
        <translation>Die alte Fassung bleibt daneben.</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
    <message>
        <source>Ask again</source>
        <translation>Noch einmal fragen</translation>
    </message>
    <message>
        <source>Save as new version</source>
        <translation>Als neue Fassung speichern</translation>
    </message>
    <message>
        <source>Replace</source>
        <translation>Ersetzen</translation>
    </message>
    <message>
        <source>Put it in the old version&apos;s place (Ctrl+Enter); Undo brings that back</source>
        <translation>An die Stelle der alten Fassung setzen (Strg+Eingabe); „Rückgängig“ bringt sie zurück</translation>
    </message>
</context>
<context>
    <name>MessageFooter</name>
    <message>
        <source>its tokens are not known</source>
        <translation>seine Token sind nicht bekannt</translation>
    </message>
    <message>
        <source>its probabilities were not recorded</source>
        <translation>ihre Wahrscheinlichkeiten wurden nicht aufgezeichnet</translation>
    </message>
</context>
<context>
    <name>MessageList</name>
    <message>
        <source>Message {number}</source>
        <translation>Nachricht {number}</translation>
    </message>
</context>
<context>
    <name>MessageMarks</name>
    <message>
        <source>Starred</source>
        <translation>Mit Stern</translation>
    </message>
    <message>
        <source>Pinned</source>
        <translation>Angeheftet</translation>
    </message>
</context>
<context>
    <name>MessageText</name>
    <message>
        <source>With the formulas {formulas}</source>
        <translation>Mit den Formeln {formulas}</translation>
    </message>
    <message>
        <source>… and {count} characters more. Copy and Export have the whole text.</source>
        <translation>… und {count} weitere Zeichen. „Kopieren“ und „Exportieren“ haben den ganzen Text.</translation>
    </message>
</context>
<context>
    <name>MessageView</name>
    <message>
        <source>{}, version {} of {}</source>
        <translation>{}, Fassung {} von {}</translation>
    </message>
    <message>
        <source>System prompt</source>
        <translation>Systemprompt</translation>
    </message>
    <message>
        <source>You</source>
        <translation>Sie</translation>
    </message>
    <message>
        <source>Answer</source>
        <translation>Antwort</translation>
    </message>
    <message>
        <source>Note</source>
        <translation>Notiz</translation>
    </message>
</context>
<context>
    <name>ModelsPage</name>
    <message>
        <source>Open folder…</source>
        <translation>Ordner öffnen…</translation>
    </message>
    <message>
        <source>Forget the others</source>
        <translation>Die anderen vergessen</translation>
    </message>
    <message>
        <source>Takes them out of this list. Their files stay where they are.</source>
        <translation>Nimmt sie aus dieser Liste. Ihre Dateien bleiben, wo sie sind.</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>Modell</translation>
    </message>
    <message>
        <source>Knows Bough and nothing else.</source>
        <translation>Kennt Bough und sonst nichts.</translation>
    </message>
    <message>
        <source>{} · {} M parameters · context {} tokens</source>
        <translation>{} · {} Mio. Parameter · Kontext {} Token</translation>
    </message>
    <message>
        <source>Loading {} …</source>
        <translation>{} wird geladen …</translation>
    </message>
    <message>
        <source>No model is loaded.</source>
        <translation>Kein Modell ist geladen.</translation>
    </message>
</context>
<context>
    <name>NoteView</name>
    <message>
        <source>What it holds</source>
        <translation>Was sie enthält</translation>
    </message>
    <message>
        <source>Show or fold what this note holds</source>
        <translation>Zeigen oder einklappen, was diese Notiz enthält</translation>
    </message>
    <message>
        <source>Save “{name}” ({size})…</source>
        <translation>„{name}“ speichern ({size})…</translation>
    </message>
    <message>
        <source>Save</source>
        <translation>Speichern</translation>
    </message>
    <message>
        <source>{file} could not be written ({why}).</source>
        <translation>{file} ließ sich nicht schreiben ({why}).</translation>
    </message>
</context>
<context>
    <name>NoticeCommands</name>
    <message>
        <source>What you wrote was set aside. Edit the message to go on with it.</source>
        <translation>Was Sie geschrieben haben, ist aufgehoben. Bearbeiten Sie die Nachricht, um damit weiterzumachen.</translation>
    </message>
    <message>
        <source>It is in {}. Nothing here can show folders.</source>
        <translation>Es ist in {}. Kein Programm hier kann Ordner zeigen.</translation>
    </message>
</context>
<context>
    <name>Numbers</name>
    <message>
        <source>bytes</source>
        <translation>Byte</translation>
    </message>
</context>
<context>
    <name>Palette</name>
    <message>
        <source>Command palette</source>
        <translation>Befehlspalette</translation>
    </message>
    <message>
        <source>Command, conversation, model, preset</source>
        <translation>Befehl, Gespräch, Modell, Vorgabe</translation>
    </message>
    <message>
        <source>What fits</source>
        <translation>Was passt</translation>
    </message>
    <message>
        <source>Nothing is called so. Fewer letters find more.</source>
        <translation>So heißt nichts. Weniger Buchstaben finden mehr.</translation>
    </message>
</context>
<context>
    <name>PaletteCommands</name>
    <message>
        <source>Pinned branch</source>
        <translation>Angehefteter Zweig</translation>
    </message>
    <message>
        <source>Conversation</source>
        <translation>Gespräch</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>Modell</translation>
    </message>
    <message>
        <source>Preset</source>
        <translation>Vorgabe</translation>
    </message>
</context>
<context>
    <name>PinnedBranches</name>
    <message>
        <source>Pinned branches</source>
        <translation>Angeheftete Zweige</translation>
    </message>
    <message>
        <source>Unpin (Delete)</source>
        <translation>Lösen (Entf)</translation>
    </message>
</context>
<context>
    <name>PrefillProgress</name>
    <message>
        <source>reading {done} of {total} · {kept} kept</source>
        <translation>liest {done} von {total} · {kept} behalten</translation>
    </message>
    <message>
        <source>Reading</source>
        <translation>Lesen</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
    <message>
        <source>Give this answer up; your message stays (Esc)</source>
        <translation>Diese Antwort aufgeben; Ihre Nachricht bleibt (Esc)</translation>
    </message>
</context>
<context>
    <name>PresetBar</name>
    <message>
        <source>Preset</source>
        <translation>Vorgabe</translation>
    </message>
    <message>
        <source>A way of asking under a name</source>
        <translation>Eine Art zu fragen, unter einem Namen</translation>
    </message>
    <message>
        <source>Save as…</source>
        <translation>Speichern als…</translation>
    </message>
    <message>
        <source>Keep all that is set here under a name</source>
        <translation>Alles, was hier eingestellt ist, unter einem Namen behalten</translation>
    </message>
    <message>
        <source>Update</source>
        <translation>Aktualisieren</translation>
    </message>
    <message>
        <source>Delete</source>
        <translation>Löschen</translation>
    </message>
    <message>
        <source>Name of the preset</source>
        <translation>Name der Vorgabe</translation>
    </message>
    <message>
        <source>A name for what is set here</source>
        <translation>Ein Name für das, was hier eingestellt ist</translation>
    </message>
    <message>
        <source>Save</source>
        <translation>Speichern</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
    <message>
        <source>As set here</source>
        <translation>Wie hier eingestellt</translation>
    </message>
    <message>
        <source>{name}, changed</source>
        <translation>{name}, geändert</translation>
    </message>
    <message>
        <source>Keep what is set here under “{name}”</source>
        <translation>Was hier eingestellt ist, unter „{name}“ behalten</translation>
    </message>
    <message>
        <source>Delete “{name}”; what is set here stays</source>
        <translation>„{name}“ löschen; was hier eingestellt ist, bleibt</translation>
    </message>
    <message>
        <source>Replace</source>
        <translation>Ersetzen</translation>
    </message>
    <message>
        <source>That one comes with Bough; take another name</source>
        <translation>Diese gehört zu Bough; nehmen Sie einen anderen Namen</translation>
    </message>
    <message>
        <source>Precise</source>
        <translation>Genau</translation>
    </message>
    <message>
        <source>Balanced</source>
        <translation>Ausgewogen</translation>
    </message>
    <message>
        <source>Creative</source>
        <translation>Einfallsreich</translation>
    </message>
    <message>
        <source>Wild</source>
        <translation>Wild</translation>
    </message>
</context>
<context>
    <name>RegenerateMenu</name>
    <message>
        <source>Regenerate with</source>
        <translation>Neu erzeugen mit</translation>
    </message>
    <message>
        <source>Side by side</source>
        <translation>Nebeneinander</translation>
    </message>
    <message numerus="yes">
        <source>%n answer(s)</source>
        <translation>
            <numerusform>%n Antwort</numerusform>
            <numerusform>%n Antworten</numerusform>
        </translation>
    </message>
    <message>
        <source>Drawn otherwise</source>
        <translation>Anders gezogen</translation>
    </message>
    <message>
        <source>By another model</source>
        <translation>Von einem anderen Modell</translation>
    </message>
</context>
<context>
    <name>ReplayWindow</name>
    <message>
        <source>Run again</source>
        <translation>Noch einmal rechnen</translation>
    </message>
    <message>
        <source>Running the answer again …</source>
        <translation>Die Antwort wird noch einmal gerechnet …</translation>
    </message>
    <message>
        <source>Each token is drawn again behind the stored ones before it, with the same seed and settings. Nothing of the conversation is changed.</source>
        <translation>Jedes Token wird hinter den gespeicherten davor noch einmal gezogen, mit gleichem Startwert und gleichen Einstellungen. Am Gespräch ändert sich nichts.</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
    <message>
        <source>Esc</source>
        <translation>Esc</translation>
    </message>
    <message>
        <source>Drawing …</source>
        <translation>Wird gezogen …</translation>
    </message>
    <message>
        <source>The same model, libraries, seed and settings.</source>
        <translation>Gleiches Modell, gleiche Bibliotheken, gleicher Startwert, gleiche Einstellungen.</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>Schließen</translation>
    </message>
    <message>
        <source>Close (Esc)</source>
        <translation>Schließen (Esc)</translation>
    </message>
    <message>
        <source>Token</source>
        <translation>Token</translation>
    </message>
    <message>
        <source>There stood</source>
        <translation>Da stand</translation>
    </message>
    <message>
        <source>Now came</source>
        <translation>Jetzt kam</translation>
    </message>
    <message>
        <source>the end</source>
        <translation>das Ende</translation>
    </message>
</context>
<context>
    <name>SamplingPanel</name>
    <message>
        <source>How the next answers are asked for</source>
        <translation>Wie die nächsten Antworten erfragt werden</translation>
    </message>
    <message>
        <source>all</source>
        <translation>alle</translation>
    </message>
    <message>
        <source>off</source>
        <translation>aus</translation>
    </message>
    <message>
        <source>a new one</source>
        <translation>immer neu</translation>
    </message>
    <message>
        <source>A seed is a whole number from 0 to 9,223,372,036,854,775,807.</source>
        <translation>Ein Startwert ist eine ganze Zahl von 0 bis 9.223.372.036.854.775.807.</translation>
    </message>
    <message>
        <source>Automatic</source>
        <translation>Von selbst</translation>
    </message>
    <message>
        <source>From the tree</source>
        <translation>Aus dem Baum</translation>
    </message>
    <message>
        <source>Off</source>
        <translation>Aus</translation>
    </message>
    <message>
        <source>Stop strings</source>
        <translation>Stoppfolgen</translation>
    </message>
    <message>
        <source>How tokens are drawn</source>
        <translation>Wie Token gezogen werden</translation>
    </message>
    <message>
        <source>Temperature</source>
        <translation>Temperatur</translation>
    </message>
    <message>
        <source>0 always takes the likeliest token; more is freer.</source>
        <translation>0 nimmt immer das wahrscheinlichste Token; mehr ist freier.</translation>
    </message>
    <message>
        <source>Top-p</source>
        <translation>Top-p</translation>
    </message>
    <message>
        <source>Draw from the likeliest tokens that together have this share.</source>
        <translation>Aus den wahrscheinlichsten Token ziehen, die zusammen diesen Anteil haben.</translation>
    </message>
    <message>
        <source>Top-k</source>
        <translation>Top-k</translation>
    </message>
    <message>
        <source>Draw from so many of the likeliest tokens.</source>
        <translation>Aus so vielen der wahrscheinlichsten Token ziehen.</translation>
    </message>
    <message>
        <source>Min-p</source>
        <translation>Min-p</translation>
    </message>
    <message>
        <source>Leave out what is less likely than this share of the likeliest.</source>
        <translation>Weglassen, was unwahrscheinlicher ist als dieser Anteil des wahrscheinlichsten.</translation>
    </message>
    <message>
        <source>Repetition penalty</source>
        <translation>Wiederholungsstrafe</translation>
    </message>
    <message>
        <source>Make what was said lately less likely to be said again.</source>
        <translation>Was eben gesagt wurde, unwahrscheinlicher machen.</translation>
    </message>
    <message>
        <source>Presence penalty</source>
        <translation>Präsenzstrafe</translation>
    </message>
    <message>
        <source>Make tokens that were used lately less likely; below 0, more likely.</source>
        <translation>Eben verwendete Token unwahrscheinlicher machen; unter 0 wahrscheinlicher.</translation>
    </message>
    <message>
        <source>Frequency penalty</source>
        <translation>Häufigkeitsstrafe</translation>
    </message>
    <message>
        <source>The same, the more so the more often a token was used.</source>
        <translation>Ebenso, und umso stärker, je öfter ein Token verwendet wurde.</translation>
    </message>
    <message>
        <source>The answer</source>
        <translation>Die Antwort</translation>
    </message>
    <message>
        <source>Maximum tokens</source>
        <translation>Token höchstens</translation>
    </message>
    <message>
        <source>The answer is cut there; Continue goes on.</source>
        <translation>Dort wird die Antwort abgeschnitten; „Fortsetzen“ schreibt weiter.</translation>
    </message>
    <message>
        <source>Answers at once</source>
        <translation>Antworten</translation>
    </message>
    <message>
        <source>Side by side, to keep one or all.</source>
        <translation>Nebeneinander, um eine oder alle zu behalten.</translation>
    </message>
    <message>
        <source>Seed</source>
        <translation>Startwert</translation>
    </message>
    <message>
        <source>The same seed and question give the same answer.</source>
        <translation>Gleicher Startwert und gleiche Frage ergeben die gleiche Antwort.</translation>
    </message>
    <message>
        <source>Think first</source>
        <translation>Erst nachdenken</translation>
    </message>
    <message>
        <source>Drafts</source>
        <translation>Entwürfe</translation>
    </message>
    <message>
        <source>Usual (on)</source>
        <translation>Üblich (an)</translation>
    </message>
    <message>
        <source>Usual (off)</source>
        <translation>Üblich (aus)</translation>
    </message>
    <message>
        <source>Draft model</source>
        <translation>Vom Modell</translation>
    </message>
    <message>
        <source>By {model}, or by other answers in the tree.</source>
        <translation>Von {model} oder aus anderen Antworten im Baum.</translation>
    </message>
    <message>
        <source>By a draft model, where one is chosen in the Models menu, or by other answers in the tree.</source>
        <translation>Von einem Entwurfsmodell, wo im Menü „Modelle“ eines gewählt ist, oder aus anderen Antworten im Baum.</translation>
    </message>
    <message>
        <source>Guesses of what comes next, looked at all at once. They change the speed, not the answer.</source>
        <translation>Vermutungen darüber, was folgt, auf einmal geprüft. Sie ändern das Tempo, nicht die Antwort.</translation>
    </message>
    <message>
        <source>Where one of these comes, the answer ends.</source>
        <translation>Wo eine davon kommt, endet die Antwort.</translation>
    </message>
    <message>
        <source>Hooks</source>
        <translation>Hooks</translation>
    </message>
    <message>
        <source>Python that looks at each token and may take it back. Asked from the top.</source>
        <translation>Python, das jedes Token ansieht und zurücknehmen kann. Gefragt von oben nach unten.</translation>
    </message>
    <message>
        <source>All this holds in this conversation, from the next answer on.</source>
        <translation>All das gilt in diesem Gespräch, von der nächsten Antwort an.</translation>
    </message>
    <message>
        <source>As in new ones</source>
        <translation>Wie in neuen</translation>
    </message>
    <message>
        <source>Ask here as new conversations do</source>
        <translation>Hier fragen wie in neuen Gesprächen</translation>
    </message>
    <message>
        <source>Use in new ones</source>
        <translation>Auch in neuen</translation>
    </message>
    <message>
        <source>Let new conversations ask as this one does</source>
        <translation>Neue Gespräche fragen lassen wie dieses</translation>
    </message>
    <message>
        <source>No switch</source>
        <translation>Geht nicht</translation>
    </message>
    <message>
        <source>On</source>
        <translation>An</translation>
    </message>
    <message>
        <source>This model&apos;s template has no switch for it.</source>
        <translation>Die Vorlage dieses Modells hat keinen Schalter dafür.</translation>
    </message>
    <message>
        <source>Whether the model thinks before it answers.</source>
        <translation>Ob das Modell nachdenkt, bevor es antwortet.</translation>
    </message>
</context>
<context>
    <name>Search</name>
    <message>
        <source>Messages that were found</source>
        <translation>Gefundene Nachrichten</translation>
    </message>
    <message>
        <source>You</source>
        <translation>Sie</translation>
    </message>
    <message>
        <source>Answer</source>
        <translation>Antwort</translation>
    </message>
    <message>
        <source>System prompt</source>
        <translation>Systemprompt</translation>
    </message>
    <message>
        <source>Note</source>
        <translation>Notiz</translation>
    </message>
    <message>
        <source>version {number} of {all}</source>
        <translation>Fassung {number} von {all}</translation>
    </message>
    <message>
        <source>branch “{name}”</source>
        <translation>Zweig „{name}“</translation>
    </message>
    <message>
        <source>starred</source>
        <translation>mit Stern</translation>
    </message>
    <message>
        <source>pinned</source>
        <translation>angeheftet</translation>
    </message>
</context>
<context>
    <name>SearchChips</name>
    <message>
        <source>Who said it</source>
        <translation>Wer es gesagt hat</translation>
    </message>
    <message>
        <source>When it was said</source>
        <translation>Wann es gesagt wurde</translation>
    </message>
    <message>
        <source>Which model said it</source>
        <translation>Welches Modell es gesagt hat</translation>
    </message>
    <message>
        <source>Starred</source>
        <translation>Mit Stern</translation>
    </message>
    <message>
        <source>Starred messages alone (is:starred)</source>
        <translation>Nur Nachrichten mit Stern (is:starred)</translation>
    </message>
    <message>
        <source>Pinned</source>
        <translation>Angeheftet</translation>
    </message>
    <message>
        <source>Pinned messages alone (is:pinned)</source>
        <translation>Nur angeheftete Nachrichten (is:pinned)</translation>
    </message>
    <message>
        <source>Anyone</source>
        <translation>Alle</translation>
    </message>
    <message>
        <source>You</source>
        <translation>Sie</translation>
    </message>
    <message>
        <source>Answers</source>
        <translation>Antworten</translation>
    </message>
    <message>
        <source>System prompts</source>
        <translation>Systemprompts</translation>
    </message>
    <message>
        <source>Notes</source>
        <translation>Notizen</translation>
    </message>
    <message>
        <source>Any time</source>
        <translation>Jederzeit</translation>
    </message>
    <message>
        <source>Today</source>
        <translation>Heute</translation>
    </message>
    <message>
        <source>Last seven days</source>
        <translation>Letzte sieben Tage</translation>
    </message>
    <message>
        <source>Last 30 days</source>
        <translation>Letzte 30 Tage</translation>
    </message>
    <message>
        <source>Last year</source>
        <translation>Letztes Jahr</translation>
    </message>
    <message>
        <source>before {day}</source>
        <translation>vor dem {day}</translation>
    </message>
    <message>
        <source>Any model</source>
        <translation>Jedes Modell</translation>
    </message>
    <message>
        <source>since {day}</source>
        <translation>seit dem {day}</translation>
    </message>
</context>
<context>
    <name>SearchPanel</name>
    <message>
        <source>Search everything</source>
        <translation>Alles durchsuchen</translation>
    </message>
    <message>
        <source>Search every message of every branch</source>
        <translation>Jede Nachricht jedes Zweigs durchsuchen</translation>
    </message>
    <message>
        <source>Close the search</source>
        <translation>Suche schließen</translation>
    </message>
    <message>
        <source>Close (Esc)</source>
        <translation>Schließen (Esc)</translation>
    </message>
    <message numerus="yes">
        <source>The first %n message(s); more words find fewer.</source>
        <translation>
            <numerusform>Die erste Nachricht; mehr Wörter finden weniger.</numerusform>
            <numerusform>Die ersten %n Nachrichten; mehr Wörter finden weniger.</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n message(s). Enter goes there.</source>
        <translation>
            <numerusform>%n Nachricht. Eingabe führt hin.</numerusform>
            <numerusform>%n Nachrichten. Eingabe führt hin.</numerusform>
        </translation>
    </message>
    <message>
        <source>No message with these filters says that. Take a filter away to find more.</source>
        <translation>Keine Nachricht mit diesen Filtern sagt das. Nehmen Sie einen Filter weg, um mehr zu finden.</translation>
    </message>
    <message>
        <source>No message says that. Every message of every branch was looked at; what is in the trash was not.</source>
        <translation>Keine Nachricht sagt das. Jede Nachricht jedes Zweigs wurde angesehen; was im Papierkorb liegt, nicht.</translation>
    </message>
    <message>
        <source>Looks at every message of every branch, in all conversations but those in the trash.

Words, “a phrase”, the beginn* of a word; any script.
from:you, from:answer, is:starred, is:pinned, model:guide, after:2026-01-31, before:2026-03-01 narrow it.</source>
        <translation>Sieht jede Nachricht jedes Zweigs an, in allen Gesprächen außer denen im Papierkorb.

Wörter, „eine Folge“, der Anfa* eines Worts; jede Schrift.
from:you, from:answer, is:starred, is:pinned, model:guide, after:2026-01-31, before:2026-03-01 engen es ein.</translation>
    </message>
</context>
<context>
    <name>Sections</name>
    <message>
        <source>Pinned</source>
        <translation>Angeheftet</translation>
    </message>
    <message>
        <source>Today</source>
        <translation>Heute</translation>
    </message>
    <message>
        <source>Yesterday</source>
        <translation>Gestern</translation>
    </message>
    <message>
        <source>This week</source>
        <translation>Diese Woche</translation>
    </message>
    <message>
        <source>Older</source>
        <translation>Älter</translation>
    </message>
    <message>
        <source>Archive</source>
        <translation>Archiv</translation>
    </message>
</context>
<context>
    <name>SelectionCommands</name>
    <message>
        <source>Copy all messages</source>
        <translation>Alle Nachrichten kopieren</translation>
    </message>
</context>
<context>
    <name>Sentences</name>
    <message>
        <source>1 message was pruned.</source>
        <translation>1 Nachricht wurde gestutzt.</translation>
    </message>
    <message>
        <source>Another Bough has these conversations open, so nothing was deleted. Close it, then empty the trash again.</source>
        <translation>Ein anderes Bough hat diese Gespräche geöffnet, deshalb wurde nichts gelöscht. Schließen Sie es, und leeren Sie den Papierkorb dann noch einmal.</translation>
    </message>
    <message>
        <source>Another program is writing to {path}. Nothing was changed. Close it, or try again in a moment.</source>
        <translation>Ein anderes Programm schreibt gerade in {path}. Nichts wurde geändert. Schließen Sie es, oder versuchen Sie es gleich noch einmal.</translation>
    </message>
    <message>
        <source>No model is loaded now.</source>
        <translation>Jetzt ist kein Modell geladen.</translation>
    </message>
    <message>
        <source>The conversations in {path} can&apos;t be used ({error}). Nothing was changed. Check the disk, then try again.</source>
        <translation>Die Gespräche in {path} lassen sich nicht verwenden ({error}). Nichts wurde geändert. Prüfen Sie den Datenträger, und versuchen Sie es noch einmal.</translation>
    </message>
    <message>
        <source>The prompt is empty. Send at least one token of text.</source>
        <translation>Der Prompt ist leer. Senden Sie mindestens ein Token Text.</translation>
    </message>
    <message>
        <source>The weight file {file} is damaged ({error}). Download it again, then open the folder again.</source>
        <translation>Die Gewichtsdatei {file} ist beschädigt ({error}). Laden Sie sie noch einmal herunter, und öffnen Sie den Ordner dann wieder.</translation>
    </message>
    <message>
        <source>The worker is shutting down. Start a new one.</source>
        <translation>Der Modellprozess wird beendet. Starten Sie einen neuen.</translation>
    </message>
    <message>
        <source>`messages` is empty. Send at least one message.</source>
        <translation>Es gibt keine Nachricht. Senden Sie mindestens eine.</translation>
    </message>
    <message>
        <source>a comment between its messages is damaged</source>
        <translation>ein Kommentar zwischen seinen Nachrichten ist beschädigt</translation>
    </message>
    <message>
        <source>chat records (OpenAI, ShareGPT)</source>
        <translation>Chatprotokolle (OpenAI, ShareGPT)</translation>
    </message>
    <message>
        <source>it has no messages</source>
        <translation>hat keine Nachrichten</translation>
    </message>
    <message>
        <source>it is too long for a transcript</source>
        <translation>ist zu lang für eine Mitschrift</translation>
    </message>
    <message>
        <source>its messages are missing</source>
        <translation>die Nachrichten fehlen</translation>
    </message>
    <message>
        <source>pictures and files, kept with their messages</source>
        <translation>Bilder und Dateien, bei ihren Nachrichten behalten</translation>
    </message>
    <message>
        <source>the end of the answer</source>
        <translation>das Ende der Antwort</translation>
    </message>
    <message>
        <source>{file} can&apos;t be read ({error}). Download the model again.</source>
        <translation>{file} lässt sich nicht lesen ({error}). Laden Sie das Modell noch einmal herunter.</translation>
    </message>
    <message>
        <source>{path} belongs to another program.</source>
        <translation>{path} gehört zu einem anderen Programm.</translation>
    </message>
    <message>
        <source>{path} is empty.</source>
        <translation>{path} ist leer.</translation>
    </message>
    <message>
        <source>“{name}” can&apos;t be read ({error}).</source>
        <translation>„{name}“ lässt sich nicht lesen ({error}).</translation>
    </message>
    <message>
        <source>“{name}” was archived.</source>
        <translation>„{name}“ wurde archiviert.</translation>
    </message>
    <message>
        <source>“{name}” was deleted.</source>
        <translation>„{name}“ wurde gelöscht.</translation>
    </message>
    <message>
        <source>No model is loaded. Load one, then try again.</source>
        <translation>Es ist kein Modell geladen. Laden Sie eines, und versuchen Sie es noch einmal.</translation>
    </message>
    <message>
        <source>The hook “{name}” failed, so the answer ended. The text so far is kept. Fix the hook, or turn it off and try again.
{why}</source>
        <translation>Der Hook „{name}“ ist fehlgeschlagen, deshalb endete die Antwort. Der bisherige Text bleibt erhalten. Korrigieren Sie den Hook, oder schalten Sie ihn aus, und versuchen Sie es noch einmal.
{why}</translation>
    </message>
    <message>
        <source>There is not enough memory for this request. Nothing else was lost. Shorten the conversation, close other programs, or open a smaller model.</source>
        <translation>Der Arbeitsspeicher reicht für diese Anfrage nicht aus. Sonst ging nichts verloren. Kürzen Sie das Gespräch, schließen Sie andere Programme, oder öffnen Sie ein kleineres Modell.</translation>
    </message>
    <message>
        <source>An error in Bough ended this request ({kind}: {error}). The model is still running. Try again.</source>
        <translation>Ein Fehler in Bough hat diese Anfrage beendet ({kind}: {error}). Das Modell läuft weiter. Versuchen Sie es noch einmal.</translation>
    </message>
    <message>
        <source>This `request_id` is already in use. Choose another one for each command.</source>
        <translation>Diese `request_id` wird schon verwendet. Wählen Sie für jeden Befehl eine andere.</translation>
    </message>
    <message>
        <source>Loading “{model}” was cancelled.</source>
        <translation>Das Laden von „{model}“ wurde abgebrochen.</translation>
    </message>
    <message>
        <source>Loading “{model}” stopped because you chose another model.</source>
        <translation>Das Laden von „{model}“ wurde beendet, weil Sie ein anderes Modell gewählt haben.</translation>
    </message>
    <message>
        <source>There is not enough memory for “{model}”. {loaded} Close other programs, or choose a smaller model.</source>
        <translation>Der Arbeitsspeicher reicht für „{model}“ nicht aus. {loaded} Schließen Sie andere Programme, oder wählen Sie ein kleineres Modell.</translation>
    </message>
    <message>
        <source>{architecture} models can&apos;t take tokens back, so this model answers without a draft model.</source>
        <translation>Modelle vom Typ {architecture} können keine Token zurücknehmen. Deshalb antwortet dieses Modell ohne Entwurfsmodell.</translation>
    </message>
    <message>
        <source>The draft model “{draft_model}” uses other tokens than “{model}”. Choose a smaller model of the same family, or none.</source>
        <translation>Das Entwurfsmodell „{draft_model}“ verwendet andere Token als „{model}“. Wählen Sie ein kleineres Modell derselben Familie oder keines.</translation>
    </message>
    <message>
        <source>{architecture} models can&apos;t take tokens back, so this model can&apos;t be a draft model.</source>
        <translation>Modelle vom Typ {architecture} können keine Token zurücknehmen. Deshalb kann dieses Modell kein Entwurfsmodell sein.</translation>
    </message>
    <message>
        <source>The previous model is still loaded.</source>
        <translation>Das vorherige Modell ist noch geladen.</translation>
    </message>
    <message>
        <source>The tokenizer in {path} is in a format that Bough can&apos;t read (it needs tokenizer.json). Choose another model.</source>
        <translation>Der Tokenizer in {path} hat ein Format, das Bough nicht lesen kann (nötig ist tokenizer.json). Wählen Sie ein anderes Modell.</translation>
    </message>
    <message>
        <source>The model in {path} needs its own program code. Bough never runs code that comes with a model. Choose a model with a built-in architecture.</source>
        <translation>Das Modell in {path} braucht eigenen Programmcode. Bough führt nie Code aus, der mit einem Modell kommt. Wählen Sie ein Modell mit einer eingebauten Architektur.</translation>
    </message>
    <message>
        <source>The model in {path} needs its own program code ({file}, named in config.json). Bough never runs code that comes with a model. Choose a model with a built-in architecture.</source>
        <translation>Das Modell in {path} braucht eigenen Programmcode ({file}, genannt in config.json). Bough führt nie Code aus, der mit einem Modell kommt. Wählen Sie ein Modell mit einer eingebauten Architektur.</translation>
    </message>
    <message>
        <source>Bough does not support models of the type {architecture} ({path}). Choose another model.</source>
        <translation>Bough unterstützt keine Modelle vom Typ {architecture} ({path}). Wählen Sie ein anderes Modell.</translation>
    </message>
    <message>
        <source>The model in {path} can&apos;t be loaded: {reason}. Download it again, or choose another model.</source>
        <translation>Das Modell in {path} kann nicht geladen werden: {reason}. Laden Sie es noch einmal herunter, oder wählen Sie ein anderes.</translation>
    </message>
    <message>
        <source>The tokenizer in {path} can&apos;t be loaded: {reason}. Download the model again, or choose another one.</source>
        <translation>Der Tokenizer in {path} kann nicht geladen werden: {reason}. Laden Sie das Modell noch einmal herunter, oder wählen Sie ein anderes.</translation>
    </message>
    <message>
        <source>{path} contains no weights (model*.safetensors). Choose a folder with a complete model in MLX or Hugging Face format.</source>
        <translation>{path} enthält keine Gewichte (model*.safetensors). Wählen Sie einen Ordner mit einem vollständigen Modell im Format von MLX oder Hugging Face.</translation>
    </message>
    <message>
        <source>{path} contains no tokenizer (tokenizer.json). Download the whole model again.</source>
        <translation>{path} enthält keinen Tokenizer (tokenizer.json). Laden Sie das ganze Modell noch einmal herunter.</translation>
    </message>
    <message>
        <source>The name of the model contains a NUL character. Enter a folder or the name of a downloaded model.</source>
        <translation>Der Name des Modells enthält ein NUL-Zeichen. Geben Sie einen Ordner oder den Namen eines heruntergeladenen Modells an.</translation>
    </message>
    <message>
        <source>{path} is a file. Choose the folder that contains the files of the model.</source>
        <translation>{path} ist eine Datei. Wählen Sie den Ordner, der die Dateien des Modells enthält.</translation>
    </message>
    <message>
        <source>There is no model “{name}” ({error}). Choose a folder that contains a model.</source>
        <translation>Es gibt kein Modell „{name}“ ({error}). Wählen Sie einen Ordner, der ein Modell enthält.</translation>
    </message>
    <message>
        <source>There is no folder and no downloaded model “{name}”. Choose a folder that contains a model.</source>
        <translation>Es gibt weder einen Ordner noch ein heruntergeladenes Modell „{name}“. Wählen Sie einen Ordner, der ein Modell enthält.</translation>
    </message>
    <message>
        <source>{path} contains no config.json. Choose a folder with a complete model in MLX or Hugging Face format.</source>
        <translation>{path} enthält keine config.json. Wählen Sie einen Ordner mit einem vollständigen Modell im Format von MLX oder Hugging Face.</translation>
    </message>
    <message>
        <source>{file} is not a JSON object. Download the model again.</source>
        <translation>{file} ist kein JSON-Objekt. Laden Sie das Modell noch einmal herunter.</translation>
    </message>
    <message>
        <source>{file} does not name a `model_type`, so the architecture is unknown. Choose another model.</source>
        <translation>{file} nennt keinen `model_type`, also ist die Architektur unbekannt. Wählen Sie ein anderes Modell.</translation>
    </message>
    <message>
        <source>{path} lacks {num_missing} of {num_files} weight files (the first is {file}). Finish the download, then open the folder again.</source>
        <translation>In {path} fehlen {num_missing} von {num_files} Gewichtsdateien (zuerst {file}). Schließen Sie den Download ab, und öffnen Sie den Ordner dann wieder.</translation>
    </message>
    <message>
        <source>{file} is incomplete: {num_missing} bytes are missing at its end. Finish the download, then open the folder again.</source>
        <translation>{file} ist unvollständig: Am Ende fehlen {num_missing} Byte. Schließen Sie den Download ab, und öffnen Sie den Ordner dann wieder.</translation>
    </message>
    <message>
        <source>The hook “{name}” did not return within {seconds} seconds, so the model was stopped. The text so far is kept. Fix the hook, or turn it off and try again.</source>
        <translation>Der Hook „{name}“ kam nicht innerhalb von {seconds} Sekunden zurück, deshalb wurde das Modell angehalten. Der bisherige Text bleibt erhalten. Korrigieren Sie den Hook, oder schalten Sie ihn aus, und versuchen Sie es noch einmal.</translation>
    </message>
    <message>
        <source>It returned {kind} instead of a Decision.</source>
        <translation>Er gab {kind} statt einer Decision zurück.</translation>
    </message>
    <message>
        <source>It returned a list with {kind} instead of a Decision.</source>
        <translation>Er gab eine Liste mit {kind} statt einer Decision zurück.</translation>
    </message>
    <message>
        <source>Its decision can&apos;t be carried out: {error}.</source>
        <translation>Seine Entscheidung lässt sich nicht ausführen: {error}.</translation>
    </message>
    <message>
        <source>Its temperature is {temperature}, but must be 0 or more.</source>
        <translation>Seine Temperatur ist {temperature}, muss aber mindestens 0 sein.</translation>
    </message>
    <message>
        <source>It took back a negative number of tokens.</source>
        <translation>Er hat eine negative Zahl von Token zurückgenommen.</translation>
    </message>
    <message>
        <source>Its mask has another shape than the mask of the hook before it.</source>
        <translation>Seine Maske hat eine andere Form als die des Hooks davor.</translation>
    </message>
    <message>
        <source>It can&apos;t be copied for a fork.
{trace}</source>
        <translation>Er lässt sich für eine Abzweigung nicht kopieren.
{trace}</translation>
    </message>
    <message>
        <source>`hook_options` names “{name}”, but the `hooks` of this request don&apos;t.</source>
        <translation>`hook_options` nennt „{name}“, die `hooks` dieser Anfrage aber nicht.</translation>
    </message>
    <message>
        <source>{file} defines neither a class `Hook` nor a function `hook`.</source>
        <translation>{file} definiert weder eine Klasse `Hook` noch eine Funktion `hook`.</translation>
    </message>
    <message>
        <source>`hook_options`: the hook “{name}” is a function and has no options.</source>
        <translation>Der Hook „{name}“ ist eine Funktion und hat keine Optionen.</translation>
    </message>
    <message>
        <source>`hooks`: there is no hook “{name}”. The hooks are: {names}. Put Python files with your own hooks into the hooks folder.</source>
        <translation>Es gibt keinen Hook „{name}“. Die Hooks sind: {names}. Legen Sie Python-Dateien mit eigenen Hooks in den Hook-Ordner.</translation>
    </message>
    <message>
        <source>{file} can&apos;t be read: {error}.</source>
        <translation>{file} lässt sich nicht lesen: {error}.</translation>
    </message>
    <message>
        <source>line {line}, {error}</source>
        <translation>Zeile {line}, {error}</translation>
    </message>
    <message>
        <source>{file} is not valid Python: {error}.</source>
        <translation>{file} ist kein gültiges Python: {error}.</translation>
    </message>
    <message>
        <source>Its mask must have the shape of the vocabulary, ({size},).</source>
        <translation>Seine Maske muss die Form des Vokabulars haben, ({size},).</translation>
    </message>
    <message>
        <source>It set the token {token}, but the vocabulary has {num_tokens} tokens.</source>
        <translation>Er hat das Token {token} gesetzt, aber das Vokabular hat nur {num_tokens} Token.</translation>
    </message>
    <message>
        <source>It set {token}, which the answer format forbids here. `feed_constraint=False` allows it.</source>
        <translation>Er hat {token} gesetzt, was das Antwortformat hier verbietet. `feed_constraint=False` erlaubt es.</translation>
    </message>
    <message>
        <source>Its mask allows no token that can follow here.</source>
        <translation>Seine Maske erlaubt kein Token, das hier folgen kann.</translation>
    </message>
    <message>
        <source>The answer does not satisfy the format yet.</source>
        <translation>Die Antwort erfüllt das Format noch nicht.</translation>
    </message>
    <message>
        <source>This model&apos;s tokens can&apos;t follow the answer format. Change the format.</source>
        <translation>Mit den Token dieses Modells lässt sich das Antwortformat nicht einhalten. Ändern Sie das Format.</translation>
    </message>
    <message>
        <source>The rest of the beginning does not fit the answer format.</source>
        <translation>Der Rest des Anfangs passt nicht zum Antwortformat.</translation>
    </message>
    <message>
        <source>`cache.kv_bits`: {architecture} models can&apos;t be cached in {bits} bits. Load it without `kv_bits`.</source>
        <translation>Der Cache von Modellen vom Typ {architecture} ist mit {bits} Bit nicht möglich. Laden Sie das Modell ohne diese Einstellung.</translation>
    </message>
    <message>
        <source>`cache.kv_bits`: {architecture} models can&apos;t be cached in {bits} bits ({reason}). Load it without `kv_bits`.</source>
        <translation>Der Cache von Modellen vom Typ {architecture} ist mit {bits} Bit nicht möglich ({reason}). Laden Sie das Modell ohne diese Einstellung.</translation>
    </message>
    <message>
        <source>The beginning of the answer does not fit the answer format. Change one of them, or let the format cover only the new text.</source>
        <translation>Der Anfang der Antwort passt nicht zum Antwortformat. Ändern Sie eines von beiden, oder lassen Sie das Format nur für den neuen Text gelten.</translation>
    </message>
    <message>
        <source>`draft` is &quot;model&quot;, but no draft model is loaded. Load a model with a draft model.</source>
        <translation>Ein Entwurfsmodell soll vorhersagen, aber es ist keines geladen. Laden Sie ein Modell mit Entwurfsmodell.</translation>
    </message>
    <message>
        <source>at least {num_tokens}</source>
        <translation>mindestens {num_tokens}</translation>
    </message>
    <message>
        <source>about {num_tokens}</source>
        <translation>etwa {num_tokens}</translation>
    </message>
    <message>
        <source>The prompt has {num_tokens} tokens, but the context of the model holds {context_length} tokens, the answer included. Shorten the message, or continue from an earlier one.</source>
        <translation>Der Prompt hat {num_tokens} Token, aber der Kontext des Modells fasst mit der Antwort nur {context_length} Token. Kürzen Sie die Nachricht, oder machen Sie bei einer früheren weiter.</translation>
    </message>
    <message>
        <source>It forked into more than {num_answers} answers.</source>
        <translation>Er hat in mehr als {num_answers} Antworten verzweigt.</translation>
    </message>
    <message>
        <source>The model&apos;s chat template rejects these messages: {error}.</source>
        <translation>Die Chatvorlage des Modells lehnt diese Nachrichten ab: {error}.</translation>
    </message>
    <message>
        <source>The model&apos;s chat template fails with these messages: {error}.</source>
        <translation>Die Chatvorlage des Modells scheitert an diesen Nachrichten: {error}.</translation>
    </message>
    <message>
        <source>The messages contain too many private-use characters (U+F500 to U+F5FF). Remove some of them.</source>
        <translation>Die Nachrichten enthalten zu viele Zeichen aus dem privaten Bereich (U+F500 bis U+F5FF). Entfernen Sie einige.</translation>
    </message>
    <message>
        <source>No text fits this answer format. Change the format.</source>
        <translation>Zu diesem Antwortformat passt kein Text. Ändern Sie das Format.</translation>
    </message>
    <message>
        <source>The JSON schema is nested too deeply.</source>
        <translation>Das JSON-Schema ist zu tief verschachtelt.</translation>
    </message>
    <message>
        <source>The JSON schema is not valid JSON: {error}.</source>
        <translation>Das JSON-Schema ist kein gültiges JSON: {error}.</translation>
    </message>
    <message>
        <source>The regular expression is empty. Enter one.</source>
        <translation>Der reguläre Ausdruck ist leer. Geben Sie einen ein.</translation>
    </message>
    <message>
        <source>The grammar is empty. Enter one.</source>
        <translation>Die Grammatik ist leer. Geben Sie eine ein.</translation>
    </message>
    <message>
        <source>A choice must be a list of texts, none of them empty. Enter at least one.</source>
        <translation>Eine Auswahl muss eine Liste nicht leerer Texte sein. Geben Sie mindestens einen ein.</translation>
    </message>
    <message>
        <source>The regular expression is not valid: {error}, at “{position}”.</source>
        <translation>Der reguläre Ausdruck ist ungültig: {error}, bei „{position}“.</translation>
    </message>
    <message>
        <source>1 message was permanently deleted.</source>
        <translation>1 Nachricht wurde endgültig gelöscht.</translation>
    </message>
    <message>
        <source>A file could not be used ({error}). Nothing was changed.</source>
        <translation>Eine Datei ließ sich nicht verwenden ({error}). Nichts wurde geändert.</translation>
    </message>
    <message>
        <source>A hook forked it after token {position}. Without the other branch, the hook may decide differently.</source>
        <translation>Ein Hook hat sie nach Token {position} verzweigt. Ohne den anderen Zweig entscheidet der Hook vielleicht anders.</translation>
    </message>
    <message>
        <source>An error in Bough stopped this ({kind}: {error}). Nothing was changed.</source>
        <translation>Ein Fehler in Bough hat den Vorgang abgebrochen ({kind}: {error}). Nichts wurde geändert.</translation>
    </message>
    <message>
        <source>Another Bough has these conversations open, so nothing was restored. Close it, then restore the backup again.</source>
        <translation>Ein anderes Bough hat diese Gespräche geöffnet, deshalb wurde nichts wiederhergestellt. Schließen Sie es, und stellen Sie die Sicherung dann noch einmal wieder her.</translation>
    </message>
    <message>
        <source>Banned phrases: takes back a phrase before it is complete, and continues in another way.</source>
        <translation>Verbotene Wendungen: nimmt eine Wendung zurück, bevor sie vollständig ist, und macht anders weiter.</translation>
    </message>
    <message>
        <source>Banned phrases: takes back a phrase before it is complete, and continues in another way.

Compares text, not tokens, and ignores case. A phrase may begin inside a word. Option: `phrases`.</source>
        <translation>Verbotene Wendungen: nimmt eine Wendung zurück, bevor sie vollständig ist, und macht anders weiter.

Vergleicht Text, nicht Token, und ignoriert Groß- und Kleinschreibung. Eine Wendung darf mitten in einem Wort beginnen. Option: `phrases`.</translation>
    </message>
    <message>
        <source>Bough does not know this format</source>
        <translation>Bough kennt dieses Format nicht</translation>
    </message>
    <message>
        <source>Bough was closed while this answer was being written. The text so far is kept.</source>
        <translation>Bough wurde geschlossen, während diese Antwort geschrieben wurde. Der bisherige Text bleibt erhalten.</translation>
    </message>
    <message>
        <source>Everything in the record is unchanged, but the log-probability of the stored token was {then} and is {now} now. Something computes differently.</source>
        <translation>Alles in der Aufzeichnung ist unverändert, aber die Log-Wahrscheinlichkeit des gespeicherten Tokens war {then} und ist jetzt {now}. Etwas rechnet anders.</translation>
    </message>
    <message>
        <source>Everything in the record is unchanged.</source>
        <translation>Alles in der Aufzeichnung ist unverändert.</translation>
    </message>
    <message>
        <source>Everything is saved again.</source>
        <translation>Alles ist wieder gespeichert.</translation>
    </message>
    <message>
        <source>It could not be run again. {error}</source>
        <translation>Sie ließ sich nicht noch einmal ausführen. {error}</translation>
    </message>
    <message>
        <source>It did not match from token {position} on: {num_other} of {num_compared} tokens are different.</source>
        <translation>Ab Token {position} stimmt sie nicht überein: {num_other} von {num_compared} Token sind anders.</translation>
    </message>
    <message>
        <source>It ended as before.</source>
        <translation>Sie endete wie zuvor.</translation>
    </message>
    <message>
        <source>It ended with “{reason}” now and with “{before}” before.</source>
        <translation>Sie endete jetzt mit „{reason}“ und zuvor mit „{before}“.</translation>
    </message>
    <message>
        <source>It matched: {num_compared} of {num_tokens} tokens were sampled again.</source>
        <translation>Sie stimmt überein: {num_compared} von {num_tokens} Token wurden wieder so gezogen.</translation>
    </message>
    <message>
        <source>Its hooks ({names}) can&apos;t be used as before, so it was sampled without them: {error}</source>
        <translation>Die Hooks ({names}) lassen sich nicht wie zuvor verwenden, deshalb wurde sie ohne sie erzeugt: {error}</translation>
    </message>
    <message>
        <source>Its stored tokens do not spell its text.</source>
        <translation>Ihre gespeicherten Token ergeben nicht ihren Text.</translation>
    </message>
    <message>
        <source>Message {message} can&apos;t be read because this part of the file is damaged. The other messages are intact.</source>
        <translation>Nachricht {message} lässt sich nicht lesen, weil dieser Teil der Datei beschädigt ist. Die anderen Nachrichten sind in Ordnung.</translation>
    </message>
    <message>
        <source>Message {message} has an unknown type ({role}, {state}). Its text is intact.</source>
        <translation>Nachricht {message} hat einen unbekannten Typ ({role}, {state}). Ihr Text ist in Ordnung.</translation>
    </message>
    <message>
        <source>Models round differently depending on how much they read at once.</source>
        <translation>Modelle runden unterschiedlich, je nachdem, wie viel sie auf einmal lesen.</translation>
    </message>
    <message>
        <source>No model is loaded to run the answer again. Wait until one is, or load one.</source>
        <translation>Es ist kein Modell geladen, das die Antwort noch einmal ausführen kann. Warten Sie, bis eines geladen ist, oder laden Sie eines.</translation>
    </message>
    <message>
        <source>No repeats: when an answer repeats itself, takes it back to where the repetition began, and continues in another way.</source>
        <translation>Keine Wiederholungen: nimmt eine Antwort, die sich wiederholt, bis zum Beginn der Wiederholung zurück und macht anders weiter.</translation>
    </message>
    <message>
        <source>None of it could be sampled again.</source>
        <translation>Nichts davon ließ sich noch einmal ziehen.</translation>
    </message>
    <message>
        <source>Nothing can be changed now. {why}</source>
        <translation>Im Moment kann nichts geändert werden. {why}</translation>
    </message>
    <message>
        <source>One conversation was moved to the trash in the meantime, so it was not exported.</source>
        <translation>Ein Gespräch wurde inzwischen in den Papierkorb gelegt und deshalb nicht exportiert.</translation>
    </message>
    <message>
        <source>Other library versions: {versions}.</source>
        <translation>Andere Versionen von Bibliotheken: {versions}.</translation>
    </message>
    <message>
        <source>Other weights, another configuration, or another type of device.</source>
        <translation>Andere Gewichte, eine andere Konfiguration oder eine andere Art von Gerät.</translation>
    </message>
    <message>
        <source>Put the cursor into an answer, after the words that you want to keep.</source>
        <translation>Setzen Sie den Cursor in eine Antwort, hinter die Wörter, die Sie behalten möchten.</translation>
    </message>
    <message>
        <source>The answer can&apos;t continue from this token: another model wrote it, or the token is only a part of a character. Nothing was changed. Load the model that wrote the answer, or choose the token before.</source>
        <translation>Von diesem Token aus kann die Antwort nicht weitergehen: Ein anderes Modell hat sie geschrieben, oder das Token ist nur ein Teil eines Zeichens. Nichts wurde geändert. Laden Sie das Modell, das die Antwort geschrieben hat, oder wählen Sie das Token davor.</translation>
    </message>
    <message>
        <source>The backup {backup} could not be restored ({error}). Your conversations are unchanged.</source>
        <translation>Die Sicherung {backup} ließ sich nicht wiederherstellen ({error}). Ihre Gespräche sind unverändert.</translation>
    </message>
    <message>
        <source>The backup {backup} is restored. The previous conversations are kept in {file}.</source>
        <translation>Die Sicherung {backup} ist wiederhergestellt. Die vorherigen Gespräche liegen in {file}.</translation>
    </message>
    <message>
        <source>The cache has {now} now and had {then} before.</source>
        <translation>Der Cache hat jetzt {now} und hatte zuvor {then}.</translation>
    </message>
    <message>
        <source>The conversation was moved to the trash in the meantime. Nothing was exported.</source>
        <translation>Das Gespräch wurde inzwischen in den Papierkorb gelegt. Nichts wurde exportiert.</translation>
    </message>
    <message>
        <source>The conversation was permanently deleted. Other conversations share its messages and keep them.</source>
        <translation>Das Gespräch wurde endgültig gelöscht. Andere Gespräche teilen seine Nachrichten und behalten sie.</translation>
    </message>
    <message>
        <source>The conversations in {path} are damaged ({error}). Nothing was changed. Replace the file with a backup, or move it away to start with an empty one.</source>
        <translation>Die Gespräche in {path} sind beschädigt ({error}). Nichts wurde geändert. Ersetzen Sie die Datei durch eine Sicherung, oder verschieben Sie sie, um mit einer leeren zu beginnen.</translation>
    </message>
    <message>
        <source>The conversations in {path} are partly damaged ({error}). Bough shows everything that can be read. {backup}</source>
        <translation>Die Gespräche in {path} sind teilweise beschädigt ({error}). Bough zeigt alles, was sich lesen lässt. {backup}</translation>
    </message>
    <message>
        <source>The conversations in {path} can&apos;t be opened or saved ({error}). Nothing was changed. Check that you may write to the file and its folder, or choose another folder with --data-dir.</source>
        <translation>Die Gespräche in {path} lassen sich nicht öffnen oder speichern ({error}). Nichts wurde geändert. Prüfen Sie, ob Sie in die Datei und ihren Ordner schreiben dürfen, oder wählen Sie mit --data-dir einen anderen Ordner.</translation>
    </message>
    <message>
        <source>The conversations in {path} come from a newer version of Bough. Nothing was changed. Open them with that version.</source>
        <translation>Die Gespräche in {path} stammen aus einer neueren Version von Bough. Nichts wurde geändert. Öffnen Sie sie mit dieser Version.</translation>
    </message>
    <message>
        <source>The conversations in {path} come from an older version of Bough. Bough makes a backup before it updates them, and the backup failed ({error}). Nothing was changed. Free some disk space, then start Bough again.</source>
        <translation>Die Gespräche in {path} stammen aus einer älteren Version von Bough. Vor der Aktualisierung macht Bough eine Sicherung, und die ist fehlgeschlagen ({error}). Nichts wurde geändert. Schaffen Sie Speicherplatz, und starten Sie Bough dann noch einmal.</translation>
    </message>
    <message>
        <source>The disk is full, so {path} could not be saved. Everything saved before is kept. Free some disk space, then try again.</source>
        <translation>Der Datenträger ist voll, deshalb ließ sich {path} nicht speichern. Alles vorher Gespeicherte bleibt erhalten. Schaffen Sie Speicherplatz, und versuchen Sie es noch einmal.</translation>
    </message>
    <message>
        <source>The hook “{name}” was turned off during the answer because it was too slow.</source>
        <translation>Der Hook „{name}“ wurde während der Antwort ausgeschaltet, weil er zu langsam war.</translation>
    </message>
    <message>
        <source>The model process could not be started ({error}). Your conversations are safe. Close other programs, then choose the model again.</source>
        <translation>Der Modellprozess ließ sich nicht starten ({error}). Ihre Gespräche sind sicher. Schließen Sie andere Programme, und wählen Sie das Modell dann noch einmal.</translation>
    </message>
    <message>
        <source>The model process stopped ({how}). The text so far is kept.</source>
        <translation>Der Modellprozess wurde beendet ({how}). Der bisherige Text bleibt erhalten.</translation>
    </message>
    <message>
        <source>The model process stopped {num_times} times in a row with the draft model “{draft_model}” ({how}). It now runs without a draft model.</source>
        <translation>Der Modellprozess wurde mit dem Entwurfsmodell „{draft_model}“ {num_times}-mal nacheinander beendet ({how}). Er läuft jetzt ohne Entwurfsmodell.</translation>
    </message>
    <message>
        <source>The model process stopped {num_times} times in a row with the model “{model}” ({how}). Your conversations are safe. Choose another model, or Models → Guide.</source>
        <translation>Der Modellprozess wurde mit dem Modell „{model}“ {num_times}-mal nacheinander beendet ({how}). Ihre Gespräche sind sicher. Wählen Sie ein anderes Modell oder Modelle → Guide.</translation>
    </message>
    <message>
        <source>The model process stopped.</source>
        <translation>Der Modellprozess wurde beendet.</translation>
    </message>
    <message>
        <source>The model&apos;s context ends at token {position}.</source>
        <translation>Der Kontext des Modells endet bei Token {position}.</translation>
    </message>
    <message>
        <source>The newest intact backup is {file}.</source>
        <translation>Die neueste intakte Sicherung ist {file}.</translation>
    </message>
    <message>
        <source>The prompt has {num_tokens} tokens now and had {num_before} before: a message above the answer, the chat template, or its options have changed.</source>
        <translation>Der Prompt hat jetzt {num_tokens} Token und hatte zuvor {num_before}: Eine Nachricht über der Antwort, die Chatvorlage oder deren Optionen haben sich geändert.</translation>
    </message>
    <message>
        <source>The record of how message {message} was made can&apos;t be read. Its text is intact.</source>
        <translation>Die Aufzeichnung, wie Nachricht {message} entstanden ist, lässt sich nicht lesen. Ihr Text ist in Ordnung.</translation>
    </message>
    <message>
        <source>The record of this answer is damaged: it does not say where all tokens come from.</source>
        <translation>Die Aufzeichnung dieser Antwort ist beschädigt: Sie nennt nicht für alle Token, woher sie kommen.</translation>
    </message>
    <message>
        <source>The run was stopped.</source>
        <translation>Der Durchlauf wurde angehalten.</translation>
    </message>
    <message>
        <source>The seed of the tokens {first} to {last} is unknown.</source>
        <translation>Der Seed der Token {first} bis {last} ist unbekannt.</translation>
    </message>
    <message>
        <source>The settings could not be saved ({error}). They last until you close Bough.</source>
        <translation>Die Einstellungen ließen sich nicht speichern ({error}). Sie gelten, bis Sie Bough schließen.</translation>
    </message>
    <message>
        <source>The token was {then} and is {now} now.</source>
        <translation>Das Token war {then} und ist jetzt {now}.</translation>
    </message>
    <message>
        <source>The tokens after token {position} were not compared.</source>
        <translation>Die Token nach Token {position} wurden nicht verglichen.</translation>
    </message>
    <message>
        <source>The tokens of this answer are unknown: it was imported, edited, or cut by an older version of Bough.</source>
        <translation>Die Token dieser Antwort sind unbekannt: Sie wurde importiert, bearbeitet oder von einer älteren Version von Bough gekürzt.</translation>
    </message>
    <message>
        <source>The trash is empty.</source>
        <translation>Der Papierkorb ist leer.</translation>
    </message>
    <message>
        <source>The two tokens were almost equally likely (within {difference}).</source>
        <translation>Die beiden Token waren fast gleich wahrscheinlich (Unterschied höchstens {difference}).</translation>
    </message>
    <message>
        <source>The weights that wrote it are unknown.</source>
        <translation>Die Gewichte, die sie geschrieben haben, sind unbekannt.</translation>
    </message>
    <message>
        <source>There is no answer because no model is running. Your message is kept. Open a model, then try again.</source>
        <translation>Es gibt keine Antwort, weil kein Modell läuft. Ihre Nachricht bleibt erhalten. Öffnen Sie ein Modell, und versuchen Sie es noch einmal.</translation>
    </message>
    <message>
        <source>There is no intact backup.</source>
        <translation>Es gibt keine intakte Sicherung.</translation>
    </message>
    <message>
        <source>This is not an answer of a model.</source>
        <translation>Das ist keine Antwort eines Modells.</translation>
    </message>
    <message>
        <source>This model does not support a {num_bits}-bit cache, so it uses full precision. The answers are as good, but they take more memory. To avoid this message, choose “Full precision” in the settings.</source>
        <translation>Dieses Modell unterstützt keinen Cache mit {num_bits} Bit und verwendet deshalb volle Genauigkeit. Die Antworten sind genauso gut, brauchen aber mehr Speicher. Damit diese Meldung nicht mehr erscheint, wählen Sie „Volle Genauigkeit“ in den Einstellungen.</translation>
    </message>
    <message>
        <source>Uncertain pause: when the model is unsure about a token, samples that token again, more carefully.</source>
        <translation>Pause bei Unsicherheit: zieht ein Token, bei dem das Modell unsicher ist, noch einmal vorsichtiger.</translation>
    </message>
    <message>
        <source>Uncertain pause: when the model is unsure about a token, samples that token again, more carefully.

A token whose probability is below `threshold` is sampled again at a lower `temperature`, and the second token stands.
Options: `threshold` (0…1), `temperature`.</source>
        <translation>Pause bei Unsicherheit: zieht ein Token, bei dem das Modell unsicher ist, noch einmal vorsichtiger.

Ein Token mit einer Wahrscheinlichkeit unter `threshold` wird mit niedrigerer `temperature` noch einmal gezogen, und das zweite
Token bleibt stehen. Optionen: `threshold` (0…1), `temperature`.</translation>
    </message>
    <message>
        <source>circular links between messages, cut</source>
        <translation>kreisförmige Verknüpfungen von Nachrichten, aufgetrennt</translation>
    </message>
    <message>
        <source>empty messages, left out</source>
        <translation>leere Nachrichten, ausgelassen</translation>
    </message>
    <message>
        <source>exit code {code}</source>
        <translation>Exitcode {code}</translation>
    </message>
    <message>
        <source>full precision</source>
        <translation>volle Genauigkeit</translation>
    </message>
    <message>
        <source>it can&apos;t be read ({error})</source>
        <translation>lässt sich nicht lesen ({error})</translation>
    </message>
    <message>
        <source>it comes from a newer version of Bough; import it with that version</source>
        <translation>stammt aus einer neueren Version von Bough; importieren Sie es mit dieser Version</translation>
    </message>
    <message>
        <source>it contains no conversations</source>
        <translation>enthält keine Gespräche</translation>
    </message>
    <message>
        <source>it has an invalid time</source>
        <translation>hat eine ungültige Zeit</translation>
    </message>
    <message>
        <source>it is neither JSON nor UTF-8 text</source>
        <translation>ist weder JSON noch Text in UTF-8</translation>
    </message>
    <message>
        <source>it is not a transcript from Bough: no heading names a speaker</source>
        <translation>ist keine Mitschrift von Bough: Keine Überschrift nennt einen Sprecher</translation>
    </message>
    <message>
        <source>it is not valid JSON ({error})</source>
        <translation>ist kein gültiges JSON ({error})</translation>
    </message>
    <message>
        <source>its JSON is incomplete or damaged after {position} bytes ({error})</source>
        <translation>das JSON ist nach {position} Byte unvollständig oder beschädigt ({error})</translation>
    </message>
    <message>
        <source>its JSON is incomplete or damaged after {position} bytes ({error}); {num_before} before it could be read</source>
        <translation>das JSON ist nach {position} Byte unvollständig oder beschädigt ({error}); {num_before} davor ließen sich lesen</translation>
    </message>
    <message>
        <source>its field “{name}” is missing</source>
        <translation>das Feld „{name}“ fehlt</translation>
    </message>
    <message>
        <source>its first message is missing</source>
        <translation>die erste Nachricht fehlt</translation>
    </message>
    <message>
        <source>message {id} can&apos;t be read ({error})</source>
        <translation>Nachricht {id} lässt sich nicht lesen ({error})</translation>
    </message>
    <message>
        <source>message {id} comes before its parent</source>
        <translation>Nachricht {id} steht vor der Nachricht, auf die sie folgt</translation>
    </message>
    <message>
        <source>message {id} has an invalid time</source>
        <translation>Nachricht {id} hat eine ungültige Zeit</translation>
    </message>
    <message>
        <source>message {id} has no parent</source>
        <translation>Nachricht {id} folgt auf keine andere</translation>
    </message>
    <message>
        <source>messages whose parent is not in the file, moved to the top</source>
        <translation>Nachrichten, deren Vorgänger nicht in der Datei ist, nach oben gestellt</translation>
    </message>
    <message>
        <source>messages with the id of another message</source>
        <translation>Nachrichten mit der Nummer einer anderen Nachricht</translation>
    </message>
    <message>
        <source>pictures and files that the file does not contain, replaced by placeholders</source>
        <translation>Bilder und Dateien, die nicht in der Datei sind, durch Platzhalter ersetzt</translation>
    </message>
    <message>
        <source>signal SIGALRM: a hook did not return, see the terminal</source>
        <translation>Signal SIGALRM: Ein Hook kam nicht zurück, siehe Terminal</translation>
    </message>
    <message>
        <source>signal SIGKILL, often because memory ran out</source>
        <translation>Signal SIGKILL, oft wegen Speichermangels</translation>
    </message>
    <message>
        <source>signal {signal}</source>
        <translation>Signal {signal}</translation>
    </message>
    <message>
        <source>status lines of LM Studio, left out</source>
        <translation>Statuszeilen von LM Studio, ausgelassen</translation>
    </message>
    <message>
        <source>the PDF could not be created</source>
        <translation>das PDF ließ sich nicht erzeugen</translation>
    </message>
    <message>
        <source>the archive is incomplete or damaged</source>
        <translation>das Archiv ist unvollständig oder beschädigt</translation>
    </message>
    <message>
        <source>the version of its format is missing</source>
        <translation>die Version des Formats fehlt</translation>
    </message>
    <message>
        <source>this archive contains no files with conversations</source>
        <translation>dieses Archiv enthält keine Dateien mit Gesprächen</translation>
    </message>
    <message>
        <source>this folder contains no files with conversations</source>
        <translation>dieser Ordner enthält keine Dateien mit Gesprächen</translation>
    </message>
    <message>
        <source>tool calls, tool results and messages of other roles, kept as notes</source>
        <translation>Werkzeugaufrufe, deren Ergebnisse und Nachrichten anderer Rollen, als Notizen behalten</translation>
    </message>
    <message>
        <source>two messages have the id {id}</source>
        <translation>zwei Nachrichten haben die Nummer {id}</translation>
    </message>
    <message>
        <source>unknown fields of answer records ({names})</source>
        <translation>unbekannte Felder von Antwortaufzeichnungen ({names})</translation>
    </message>
    <message>
        <source>unknown fields of messages ({names})</source>
        <translation>unbekannte Felder von Nachrichten ({names})</translation>
    </message>
    <message>
        <source>unreadable answer records</source>
        <translation>unlesbare Antwortaufzeichnungen</translation>
    </message>
    <message>
        <source>unreadable branch choices</source>
        <translation>unlesbare Zweigauswahlen</translation>
    </message>
    <message>
        <source>{error} The conversations imported so far are in the trash.</source>
        <translation>{error} Die bisher importierten Gespräche liegen im Papierkorb.</translation>
    </message>
    <message>
        <source>{error} The model is being loaded again; your next message will be answered.</source>
        <translation>{error} Das Modell wird neu geladen; Ihre nächste Nachricht wird beantwortet.</translation>
    </message>
    <message>
        <source>{error} The previous model is being loaded again.</source>
        <translation>{error} Das vorherige Modell wird wieder geladen.</translation>
    </message>
    <message>
        <source>{file} can&apos;t be written ({error}). Nothing was changed. Check that you may write to its folder, or choose another one with --data-dir.</source>
        <translation>{file} lässt sich nicht schreiben ({error}). Nichts wurde geändert. Prüfen Sie, ob Sie in den Ordner schreiben dürfen, oder wählen Sie mit --data-dir einen anderen.</translation>
    </message>
    <message>
        <source>{file} could not be used ({error}). Nothing was changed.</source>
        <translation>{file} ließ sich nicht verwenden ({error}). Nichts wurde geändert.</translation>
    </message>
    <message>
        <source>{file}, conversation {number}</source>
        <translation>{file}, Gespräch {number}</translation>
    </message>
    <message>
        <source>{file}, conversation {number} (“{name}”)</source>
        <translation>{file}, Gespräch {number} („{name}“)</translation>
    </message>
    <message>
        <source>{file}, line {number}</source>
        <translation>{file}, Zeile {number}</translation>
    </message>
    <message>
        <source>{freed_bytes} of the cache was removed from the disk, but {num_files} files in {folder} could not be removed ({error}). Check that you may write to this folder, then try again.</source>
        <translation>{freed_bytes} des Caches wurden vom Datenträger entfernt, aber {num_files} Dateien in {folder} ließen sich nicht entfernen ({error}). Prüfen Sie, ob Sie in diesen Ordner schreiben dürfen, und versuchen Sie es noch einmal.</translation>
    </message>
    <message>
        <source>{freed_bytes} of the cache was removed from the disk. Your conversations are safe. Models read them again when needed.</source>
        <translation>{freed_bytes} des Caches wurden vom Datenträger entfernt. Ihre Gespräche sind sicher. Modelle lesen sie bei Bedarf neu.</translation>
    </message>
    <message>
        <source>{num_bits} bits</source>
        <translation>{num_bits} Bit</translation>
    </message>
    <message>
        <source>{num_messages} messages were permanently deleted.</source>
        <translation>{num_messages} Nachrichten wurden endgültig gelöscht.</translation>
    </message>
    <message>
        <source>{num_messages} messages were pruned.</source>
        <translation>{num_messages} Nachrichten wurden gestutzt.</translation>
    </message>
    <message>
        <source>{num_tokens} of its tokens complete the given text. They were not sampled freely, so they are not compared.</source>
        <translation>{num_tokens} ihrer Token vervollständigen den vorgegebenen Text. Sie wurden nicht frei gezogen und werden deshalb nicht verglichen.</translation>
    </message>
    <message>
        <source>{num_tokens} of its tokens were changed where it was cut. They were not sampled freely, so they are not compared.</source>
        <translation>{num_tokens} ihrer Token wurden an der Schnittstelle geändert. Sie wurden nicht frei gezogen und werden deshalb nicht verglichen.</translation>
    </message>
    <message>
        <source>{num_tokens} of its tokens were given. They were not sampled freely, so they are not compared.</source>
        <translation>{num_tokens} ihrer Token waren vorgegeben. Sie wurden nicht frei gezogen und werden deshalb nicht verglichen.</translation>
    </message>
    <message>
        <source>{path} belongs to another program. Nothing was changed. Choose another folder for Bough with --data-dir.</source>
        <translation>{path} gehört zu einem anderen Programm. Nichts wurde geändert. Wählen Sie mit --data-dir einen anderen Ordner für Bough.</translation>
    </message>
    <message>
        <source>{problem} Other messages with such problems: {num_more}.</source>
        <translation>{problem} Weitere Nachrichten mit solchen Problemen: {num_more}.</translation>
    </message>
    <message>
        <source>{token} ({probability} likely)</source>
        <translation>{token} (zu {probability} wahrscheinlich)</translation>
    </message>
    <message>
        <source>{why} New text stays on the screen and is saved as soon as possible.</source>
        <translation>{why} Neuer Text bleibt auf dem Bildschirm und wird so bald wie möglich gespeichert.</translation>
    </message>
    <message>
        <source>{why} You can still read your conversations.</source>
        <translation>{why} Ihre Gespräche können Sie weiterhin lesen.</translation>
    </message>
    <message>
        <source>{why} You see the backup {file}, which can only be read.</source>
        <translation>{why} Sie sehen die Sicherung {file}, die nur gelesen werden kann.</translation>
    </message>
    <message>
        <source>“{model}” wrote this answer. Open that model, then run the answer again.</source>
        <translation>Diese Antwort hat „{model}“ geschrieben. Öffnen Sie dieses Modell, und führen Sie die Antwort dann noch einmal aus.</translation>
    </message>
    <message>
        <source>“{name}” has {file_bytes}, but a message can hold only {max_bytes} of files. Attach a part of it.</source>
        <translation>„{name}“ hat {file_bytes}, aber eine Nachricht fasst nur {max_bytes} an Dateien. Hängen Sie einen Teil davon an.</translation>
    </message>
    <message>
        <source>“{name}” is a folder. Attach files from it instead.</source>
        <translation>„{name}“ ist ein Ordner. Hängen Sie stattdessen Dateien daraus an.</translation>
    </message>
    <message>
        <source>“{name}” is not a text file. Save it as text, then attach the text.</source>
        <translation>„{name}“ ist keine Textdatei. Speichern Sie sie als Text, und hängen Sie diesen an.</translation>
    </message>
    <message>
        <source>No repeats: when an answer repeats itself, takes it back to where the repetition began, and continues in another way.

A repetition is a sequence of tokens that occurs `times` times in a row and has at least `fewest` tokens in all. The
hook keeps its first occurrence and bans the token that began the second one there. Options: `times`, `fewest`,
`longest` (tokens of one occurrence).</source>
        <translation>Keine Wiederholungen: nimmt eine Antwort, die sich wiederholt, bis zum Beginn der Wiederholung zurück und macht anders weiter.

Eine Wiederholung ist eine Folge von Token, die `times`-mal hintereinander vorkommt und insgesamt mindestens `fewest` Token hat.
Der Hook behält das erste Vorkommen und verbietet dort das Token, mit dem das zweite begann. Optionen: `times`, `fewest`,
`longest` (Token eines Vorkommens).</translation>
    </message>
    <message>
        <source>A JSON schema must be an object in braces.</source>
        <translation>Ein JSON-Schema muss ein Objekt in geschweiften Klammern sein.</translation>
    </message>
</context>
<context>
    <name>SettingsWindow</name>
    <message>
        <source>Settings</source>
        <translation>Einstellungen</translation>
    </message>
    <message>
        <source>Pages</source>
        <translation>Seiten</translation>
    </message>
    <message>
        <source>General</source>
        <translation>Allgemein</translation>
    </message>
    <message>
        <source>Answers</source>
        <translation>Antworten</translation>
    </message>
    <message>
        <source>Memory and disk</source>
        <translation>Speicher und Platte</translation>
    </message>
    <message>
        <source>Keys</source>
        <translation>Tasten</translation>
    </message>
    <message>
        <source>Models</source>
        <translation>Modelle</translation>
    </message>
    <message>
        <source>Data</source>
        <translation>Daten</translation>
    </message>
</context>
<context>
    <name>Sheet</name>
    <message>
        <source>Progress</source>
        <translation>Fortschritt</translation>
    </message>
    <message>
        <source>Enter</source>
        <translation>Eingabe</translation>
    </message>
    <message>
        <source>Cancelling …</source>
        <translation>Wird abgebrochen …</translation>
    </message>
</context>
<context>
    <name>ShortcutsWindow</name>
    <message>
        <source>Keyboard shortcuts</source>
        <translation>Tastenkürzel</translation>
    </message>
    <message>
        <source>Send</source>
        <translation>Senden</translation>
    </message>
    <message>
        <source>Enter</source>
        <translation>Eingabe</translation>
    </message>
    <message>
        <source>New line</source>
        <translation>Neue Zeile</translation>
    </message>
    <message>
        <source>Shift+Enter</source>
        <translation>Umschalt+Eingabe</translation>
    </message>
    <message>
        <source>Writing</source>
        <translation>Schreiben</translation>
    </message>
    <message>
        <source>Single letters work on the message that has the focus.</source>
        <translation>Einzelne Buchstaben wirken auf die Nachricht, die den Fokus hat.</translation>
    </message>
    <message>
        <source>Change keys…</source>
        <translation>Tasten ändern…</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>Schließen</translation>
    </message>
</context>
<context>
    <name>SideBySide</name>
    <message>
        <source>Close, keep all</source>
        <translation>Schließen, alle behalten</translation>
    </message>
    <message>
        <source>Close, keep all (Esc)</source>
        <translation>Schließen, alle behalten (Esc)</translation>
    </message>
    <message>
        <source>Answers to “{}”</source>
        <translation>Antworten auf „{}“</translation>
    </message>
    <message>
        <source>{} of {} versions</source>
        <translation>{} von {} Fassungen</translation>
    </message>
    <message>
        <source>Version {} of {}</source>
        <translation>Fassung {} von {}</translation>
    </message>
    <message numerus="yes">
        <source>Prunes %n message(s); Undo brings them back</source>
        <translation>
            <numerusform>Stutzt %n Nachricht; „Rückgängig“ bringt sie zurück</numerusform>
            <numerusform>Stutzt %n Nachrichten; „Rückgängig“ bringt sie zurück</numerusform>
        </translation>
    </message>
    <message>
        <source>Keep only this of {}</source>
        <translation>Von {} nur diese behalten</translation>
    </message>
    <message>
        <source>Versions that are not shown here stay.</source>
        <translation>Fassungen, die hier nicht zu sehen sind, bleiben.</translation>
    </message>
</context>
<context>
    <name>Sidebar</name>
    <message>
        <source>Search</source>
        <translation>Suchen</translation>
    </message>
    <message>
        <source>New conversation</source>
        <translation>Neues Gespräch</translation>
    </message>
    <message>
        <source>Settings</source>
        <translation>Einstellungen</translation>
    </message>
    <message>
        <source>Conversations appear here once you have asked something.</source>
        <translation>Hier erscheinen Gespräche, sobald Sie etwas gefragt haben.</translation>
    </message>
</context>
<context>
    <name>SizeChoice</name>
    <message>
        <source>{}, at most</source>
        <translation>{}, höchstens</translation>
    </message>
    <message>
        <source>Automatic</source>
        <translation>Von selbst</translation>
    </message>
    <message>
        <source>At most</source>
        <translation>Höchstens</translation>
    </message>
</context>
<context>
    <name>Steps</name>
    <message>
        <source>Send</source>
        <translation>Senden</translation>
    </message>
    <message>
        <source>Edit</source>
        <translation>Bearbeiten</translation>
    </message>
    <message>
        <source>Replace</source>
        <translation>Ersetzen</translation>
    </message>
    <message>
        <source>Regenerate</source>
        <translation>Neu erzeugen</translation>
    </message>
    <message>
        <source>Continue</source>
        <translation>Fortsetzen</translation>
    </message>
    <message>
        <source>Fork at token</source>
        <translation>Am Token abzweigen</translation>
    </message>
    <message>
        <source>Go on from here</source>
        <translation>Von hier weiterschreiben</translation>
    </message>
    <message>
        <source>Star</source>
        <translation>Stern</translation>
    </message>
    <message>
        <source>Unstar</source>
        <translation>Stern wegnehmen</translation>
    </message>
    <message>
        <source>Pin branch</source>
        <translation>Zweig anheften</translation>
    </message>
    <message>
        <source>Unpin branch</source>
        <translation>Zweig lösen</translation>
    </message>
    <message>
        <source>Name branch</source>
        <translation>Zweig benennen</translation>
    </message>
    <message>
        <source>Prune</source>
        <translation>Stutzen</translation>
    </message>
</context>
<context>
    <name>SystemPromptPopover</name>
    <message>
        <source>System prompt</source>
        <translation>Systemprompt</translation>
    </message>
    <message>
        <source>Another system prompt is a branch of its own, in which your first question is asked again.</source>
        <translation>Ein anderer Systemprompt ist ein eigener Zweig, in dem Ihre erste Frage noch einmal gestellt wird.</translation>
    </message>
    <message>
        <source>A role or rules that the model reads before your first message.</source>
        <translation>Eine Rolle oder Regeln, die das Modell vor Ihrer ersten Nachricht liest.</translation>
    </message>
    <message>
        <source>You answer briefly, and say when you are not sure.</source>
        <translation>Du antwortest kurz und sagst, wenn du unsicher bist.</translation>
    </message>
    <message>
        <source>Save as new branch</source>
        <translation>Als neuen Zweig speichern</translation>
    </message>
    <message>
        <source>The branch that you see stays beside it (Ctrl+Enter)</source>
        <translation>Der Zweig, den Sie sehen, bleibt daneben (Strg+Eingabe)</translation>
    </message>
</context>
<context>
    <name>TableFrame</name>
    <message>
        <source>Scroll the table sideways</source>
        <translation>Tabelle seitwärts scrollen</translation>
    </message>
</context>
<context>
    <name>TextChips</name>
    <message>
        <source>Type, then Enter; \n is a line break</source>
        <translation>Schreiben, dann Eingabe; \n ist ein Zeilenumbruch</translation>
    </message>
    <message>
        <source>Add</source>
        <translation>Hinzufügen</translation>
    </message>
    <message>
        <source>Add (Enter)</source>
        <translation>Hinzufügen (Eingabe)</translation>
    </message>
</context>
<context>
    <name>ThoughtView</name>
    <message>
        <source>Show or fold what the model thought (T)</source>
        <translation>Zeigen oder einklappen, was das Modell gedacht hat (T)</translation>
    </message>
    <message>
        <source>Thinking…</source>
        <translation>Denkt nach…</translation>
    </message>
    <message>
        <source>Thought</source>
        <translation>Gedanken</translation>
    </message>
    <message>
        <source>Thought for {minutes} min {seconds} s</source>
        <translation>{minutes} min {seconds} s nachgedacht</translation>
    </message>
    <message>
        <source>Thought for {seconds} s</source>
        <translation>{seconds} s nachgedacht</translation>
    </message>
</context>
<context>
    <name>Times</name>
    <message>
        <source>at an unknown time</source>
        <translation>zu unbekannter Zeit</translation>
    </message>
    <message>
        <source>today, {time}</source>
        <translation>heute, {time}</translation>
    </message>
    <message>
        <source>yesterday, {time}</source>
        <translation>gestern, {time}</translation>
    </message>
</context>
<context>
    <name>TokenLegend</name>
    <message>
        <source>expected – surprising</source>
        <translation>erwartet – überraschend</translation>
    </message>
    <message>
        <source>forced</source>
        <translation>erzwungen</translation>
    </message>
    <message>
        <source>healed</source>
        <translation>geheilt</translation>
    </message>
    <message>
        <source>drafted</source>
        <translation>entworfen</translation>
    </message>
    <message>
        <source>chosen by you</source>
        <translation>von Ihnen gewählt</translation>
    </message>
</context>
<context>
    <name>TokenPopover</name>
    <message>
        <source>Forced: nothing else could stand here, or a hook put it here.</source>
        <translation>Erzwungen: Nichts anderes konnte hier stehen, oder ein Hook hat es gesetzt.</translation>
    </message>
    <message>
        <source>Healed: it begins with the end of the text before it.</source>
        <translation>Geheilt: Es beginnt mit dem Ende des Texts davor.</translation>
    </message>
    <message>
        <source>Drafted: it was guessed, and the model agreed.</source>
        <translation>Entworfen: Es wurde vermutet, und das Modell stimmte zu.</translation>
    </message>
    <message>
        <source>Chosen by you.</source>
        <translation>Von Ihnen gewählt.</translation>
    </message>
    <message>
        <source>It was there before the model went on.</source>
        <translation>Es war da, bevor das Modell weiterschrieb.</translation>
    </message>
    <message>
        <source>The answer ended inside a token: its end was cut anew.</source>
        <translation>Die Antwort endete in einem Token: Ihr Ende wurde neu zerlegt.</translation>
    </message>
    <message>
        <source>No alternatives are known. Answers asked for in this mode have them.</source>
        <translation>Es sind keine anderen Möglichkeiten bekannt. Antworten, die in dieser Ansicht erfragt werden, haben welche.</translation>
    </message>
    <message>
        <source>↑ ↓ and Enter, or a click, go on from another one.</source>
        <translation>↑ ↓ und Eingabe oder ein Klick machen mit einem anderen weiter.</translation>
    </message>
</context>
<context>
    <name>Transcript</name>
    <message>
        <source>Conversation</source>
        <translation>Gespräch</translation>
    </message>
</context>
<context>
    <name>TrashWindow</name>
    <message>
        <source>Trash</source>
        <translation>Papierkorb</translation>
    </message>
    <message>
        <source>What lies in the trash</source>
        <translation>Was im Papierkorb liegt</translation>
    </message>
    <message>
        <source>The trash is empty.

Conversations that you delete and branches that you prune lie here for thirty days. Until then you can take them back.</source>
        <translation>Der Papierkorb ist leer.

Gespräche, die Sie löschen, und Zweige, die Sie stutzen, liegen hier dreißig Tage. So lange können Sie sie zurücknehmen.</translation>
    </message>
    <message>
        <source>What lies here is deleted after thirty days. No search and no export finds it.</source>
        <translation>Was hier liegt, wird nach dreißig Tagen gelöscht. Keine Suche und kein Export findet es.</translation>
    </message>
    <message>
        <source>Restore</source>
        <translation>Wiederherstellen</translation>
    </message>
    <message>
        <source>Delete for good…</source>
        <translation>Endgültig löschen…</translation>
    </message>
    <message>
        <source>Del</source>
        <translation>Entf</translation>
    </message>
    <message>
        <source>Empty trash…</source>
        <translation>Papierkorb leeren…</translation>
    </message>
    <message numerus="yes">
        <source>%n message(s) would go</source>
        <translation>
            <numerusform>%n Nachricht würde verschwinden</numerusform>
            <numerusform>%n Nachrichten würden verschwinden</numerusform>
        </translation>
    </message>
    <message>
        <source>Deleted {time} · {goes}</source>
        <translation>Gelöscht {time} · {goes}</translation>
    </message>
    <message>
        <source>An empty message</source>
        <translation>Eine leere Nachricht</translation>
    </message>
    <message>
        <source>Pruned {time} in “{name}” · {goes}</source>
        <translation>Gestutzt {time} in „{name}“ · {goes}</translation>
    </message>
    <message>
        <source>Delete “{name}” for good?</source>
        <translation>„{name}“ endgültig löschen?</translation>
    </message>
    <message numerus="yes">
        <source>Delete %n of these for good?</source>
        <translation>
            <numerusform>%n davon endgültig löschen?</numerusform>
            <numerusform>%n davon endgültig löschen?</numerusform>
        </translation>
    </message>
    <message>
        <source>Delete for good what lies in the trash?</source>
        <translation>Endgültig löschen, was im Papierkorb liegt?</translation>
    </message>
    <message>
        <source>Delete for good</source>
        <translation>Endgültig löschen</translation>
    </message>
    <message>
        <source>{goes}: from your conversations, from their backups and from what models have read. What another conversation shares stays. Models read again what they need.</source>
        <translation>{goes}: aus Ihren Gesprächen, aus deren Sicherungen und aus dem, was Modelle gelesen haben. Was ein anderes Gespräch teilt, bleibt. Modelle lesen wieder, was sie brauchen.</translation>
    </message>
</context>
<context>
    <name>Tree</name>
    <message>
        <source>You</source>
        <translation>Sie</translation>
    </message>
    <message>
        <source>Answer</source>
        <translation>Antwort</translation>
    </message>
    <message>
        <source>System prompt</source>
        <translation>Systemprompt</translation>
    </message>
    <message>
        <source>Note</source>
        <translation>Notiz</translation>
    </message>
    <message>
        <source>Beginning</source>
        <translation>Anfang</translation>
    </message>
    <message>
        <source>No system prompt</source>
        <translation>Kein Systemprompt</translation>
    </message>
    <message>
        <source>Being written</source>
        <translation>Wird geschrieben</translation>
    </message>
    <message>
        <source>No text</source>
        <translation>Kein Text</translation>
    </message>
    <message>
        <source>version {number} of {count}</source>
        <translation>Fassung {number} von {count}</translation>
    </message>
    <message>
        <source>starred</source>
        <translation>mit Stern</translation>
    </message>
    <message>
        <source>pinned</source>
        <translation>angeheftet</translation>
    </message>
    <message>
        <source>Nothing to read</source>
        <translation>Nichts zu lesen</translation>
    </message>
    <message>
        <source>1 more version</source>
        <translation>1 weitere Fassung</translation>
    </message>
    <message>
        <source>{count} more versions</source>
        <translation>{count} weitere Fassungen</translation>
    </message>
    <message>
        <source>here</source>
        <translation>hier</translation>
    </message>
</context>
<context>
    <name>TreeCard</name>
    <message>
        <source>Enter or a click shows them.</source>
        <translation>Eingabe oder ein Klick zeigt sie.</translation>
    </message>
</context>
<context>
    <name>TreeDock</name>
    <message>
        <source>Fit the tree into view</source>
        <translation>Den Baum einpassen</translation>
    </message>
    <message>
        <source>Fit the tree into view (0)</source>
        <translation>Den Baum einpassen (0)</translation>
    </message>
    <message>
        <source>Close the tree</source>
        <translation>Baum schließen</translation>
    </message>
    <message>
        <source>Close the tree (Ctrl+T)</source>
        <translation>Baum schließen (Strg+T)</translation>
    </message>
    <message>
        <source>Tree</source>
        <translation>Baum</translation>
    </message>
    <message numerus="yes">
        <source>{count} branches</source>
        <translation>
            <numerusform>{count} Zweig</numerusform>
            <numerusform>{count} Zweige</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>TreeOverview</name>
    <message>
        <source>Overview of the tree</source>
        <translation>Übersicht des Baums</translation>
    </message>
    <message>
        <source>Drag to see another part of the tree</source>
        <translation>Ziehen, um einen anderen Teil des Baums zu sehen</translation>
    </message>
</context>
<context>
    <name>TreeSample</name>
    <message>
        <source>Every message is a dot</source>
        <translation>Jede Nachricht ist ein Punkt</translation>
    </message>
    <message>
        <source>Edit a question or regenerate an answer, and the conversation branches: nothing that was said is lost. Double-click a dot to go there.</source>
        <translation>Bearbeiten Sie eine Frage oder erzeugen Sie eine Antwort neu, und das Gespräch verzweigt sich: Nichts, was gesagt wurde, geht verloren. Ein Doppelklick auf einen Punkt führt dorthin.</translation>
    </message>
</context>
<context>
    <name>TreeView</name>
    <message>
        <source>Tree of the conversation</source>
        <translation>Baum des Gesprächs</translation>
    </message>
</context>
<context>
    <name>UndoCommands</name>
    <message>
        <source>Undo</source>
        <translation>Rückgängig</translation>
    </message>
    <message>
        <source>Redo</source>
        <translation>Wiederholen</translation>
    </message>
</context>
<context>
    <name>VersionSwitch</name>
    <message>
        <source>Version {} of {}</source>
        <translation>Fassung {} von {}</translation>
    </message>
    <message>
        <source>Previous version (Alt+Left)</source>
        <translation>Vorige Fassung (Alt+Links)</translation>
    </message>
    <message>
        <source>Next version (Alt+Right)</source>
        <translation>Nächste Fassung (Alt+Rechts)</translation>
    </message>
</context>
<context>
    <name>WaitingAnswers</name>
    <message>
        <source>waits for the model to be loaded</source>
        <translation>wartet, bis das Modell geladen ist</translation>
    </message>
    <message>
        <source>waits for the answer in “{name}”</source>
        <translation>wartet auf die Antwort in „{name}“</translation>
    </message>
</context>
<context>
    <name>Welcome</name>
    <message>
        <source>A conversation is a tree</source>
        <translation>Ein Gespräch ist ein Baum</translation>
    </message>
    <message>
        <source>The guide is a tiny model that knows Bough and nothing else; it speaks English.</source>
        <translation>Der Guide ist ein winziges Modell, das Bough kennt und sonst nichts; er spricht Englisch.</translation>
    </message>
    <message>
        <source>Ask, then edit, regenerate or fork any message: every version stays.</source>
        <translation>Fragen Sie; dann bearbeiten Sie eine Nachricht, erzeugen sie neu oder zweigen ab: Jede Fassung bleibt.</translation>
    </message>
</context>
<context>
    <name>WritingField</name>
    <message>
        <source>The text would have {chars} characters, the longest stretch without a space {run}. A message takes {most} and {longest}. Nothing was pasted; paste a part of it.</source>
        <translation>Der Text hätte {chars} Zeichen, die längste Strecke ohne Leerzeichen {run}. Eine Nachricht nimmt {most} und {longest}. Nichts wurde eingefügt; fügen Sie einen Teil davon ein.</translation>
    </message>
</context>
<context>
    <name>_Card</name>
    <message>
        <source>Go on with this</source>
        <translation>Hiermit weitermachen</translation>
    </message>
    <message>
        <source>Go on with {}</source>
        <translation>Mit {} weitermachen</translation>
    </message>
    <message>
        <source>Keep only this</source>
        <translation>Nur diese behalten</translation>
    </message>
    <message>
        <source>Keep only {}</source>
        <translation>Nur {} behalten</translation>
    </message>
</context>
<context>
    <name>_Choices</name>
    <message>
        <source>checked</source>
        <translation>angehakt</translation>
    </message>
</context>
<context>
    <name>_Legend</name>
    <message>
        <source>kept in memory: goes on at once</source>
        <translation>im Speicher: geht sofort weiter</translation>
    </message>
    <message>
        <source>kept on disk: loaded first</source>
        <translation>auf der Platte: wird erst geladen</translation>
    </message>
    <message>
        <source>not kept: read again first</source>
        <translation>nicht behalten: wird neu gelesen</translation>
    </message>
    <message>
        <source>Full dot: kept in memory. Half dot: kept on disk. Hollow dot: not kept, to be read again.</source>
        <translation>Voller Punkt: im Speicher behalten. Halber Punkt: auf der Platte. Leerer Punkt: nicht behalten, wird wieder gelesen.</translation>
    </message>
</context>
<context>
    <name>_Picture</name>
    <message>
        <source>A question</source>
        <translation>Eine Frage</translation>
    </message>
    <message>
        <source>Its answer</source>
        <translation>Ihre Antwort</translation>
    </message>
    <message>
        <source>Another answer</source>
        <translation>Eine andere Antwort</translation>
    </message>
    <message>
        <source>System prompt</source>
        <translation>Systemprompt</translation>
    </message>
    <message>
        <source>The next question</source>
        <translation>Die nächste Frage</translation>
    </message>
    <message>
        <source>A tree of two questions, one of them with two answers</source>
        <translation>Ein Baum aus zwei Fragen, eine davon mit zwei Antworten</translation>
    </message>
</context>
</TS>
